"""The channel scenario."""
