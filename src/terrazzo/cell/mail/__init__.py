"""Mail: what bases and other entities send to the reals of this CellApp, and how a base creates a real."""
