"""The entity channel: ordered, exactly-once messages between parts of entities that move."""
