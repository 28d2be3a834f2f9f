"""The seamless scenario."""
