"""Tables of any size on one machine, through a work folder."""
