"""Ghosts: where the reals of this CellApp have some, and what other CellApps send of their reals."""
