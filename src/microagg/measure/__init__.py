"""How much a release loses and how much it risks."""
