"""The ground: rectangles of a plane, and the tree that assigns them to CellApps."""
