"""The API: what the code of a game can do with the cell part of an entity."""
