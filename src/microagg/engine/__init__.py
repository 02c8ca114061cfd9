"""Tables larger than memory: planned on a sample, protected block by block."""
