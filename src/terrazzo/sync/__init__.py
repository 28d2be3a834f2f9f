"""The messages between a server and its clients, a client's view, and how the engine runs a game's code."""
