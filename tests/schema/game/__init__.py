"""A part of the golden definition tree (`tests/golden/defs`) as a Python game: both give equal schemas."""
