"""A real PostgreSQL for tests: the one of `terrazzo.bench.postgres`, with settings for many short runs."""

from __future__ import annotations

from terrazzo.bench import postgres

# The tests end PostgreSQL, not the machine: fsync changes nothing. What must be durable, the engine must ask for.
SETTINGS = """
listen_addresses = ''
fsync = off
synchronous_commit = off
max_connections = 20
shared_buffers = 8MB
autovacuum = off
"""
ACCESS = """\
local all secretive scram-sha-256
local all all trust
"""


class Postgres(postgres.Postgres):
    """A server that is running until `close`."""

    def __init__(self) -> None:
        super().__init__(SETTINGS, ACCESS)
