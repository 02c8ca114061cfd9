"""Tables of any size on many machines."""
