"""Clients: which entities are in the area of each, what each was sent, and how much it is sent at a time."""
