"""The core of a CellApp: spaces, bodies, reals, and the state and services that all rooms of `cell` share."""
