"""The sync scenario."""
