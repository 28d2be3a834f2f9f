"""The ground: rectangles of a plane, and the tree that says which CellApp runs which of them."""
