"""The fight scenario."""
