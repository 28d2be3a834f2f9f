"""Migration: reals that leave for another CellApp or space, and reals that arrive."""
