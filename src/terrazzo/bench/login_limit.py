"""The yardstick of `terrazzo bench login`: a bare loop that does for each login only what no server can leave out.

    twice    an ephemeral key, two X25519 agreements, the keys of a session       (LoginApp, BaseApp)
    each     packet that was received is opened, each that was sent is sealed     (as many and as large as measured)
    once     in SQLite, the rows of a new player: account, entity, log-on record, its place, the save at the end, and
             the record cleared; BATCH logins share a transaction, which is durable when it ends

There are no sockets, no messages between processes, no game, and nothing is checked. So it is a bound that a server of
several processes cannot reach, and the same on any machine.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from terrazzo.bench.newcomers import Packets
from terrazzo.db.sqlite import SqliteDatabase
from terrazzo.wire.client import handshake
from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.limits import Suite

BATCH = 64
SESSIONS = 2
RECORD = bytes(40)
HEADER = bytes(9)

STATEMENTS = (
    "SELECT name, password_hash, type, dbid FROM accounts JOIN entities USING (dbid) WHERE folded = :name",
    "INSERT INTO entities (dbid, type, record) VALUES (:dbid, 'Player', :record)",
    "INSERT INTO accounts VALUES (:name, :name, '', :dbid)",
    "UPDATE counters SET next = next + 1 WHERE name = 'entity'",
    "INSERT INTO log_ons VALUES (:dbid, :dbid, -1)",
    "SELECT record FROM entities WHERE dbid = :dbid",
    "UPDATE log_ons SET base_app = 0 WHERE dbid = :dbid AND entity = :dbid",
    "UPDATE entities SET record = :record WHERE dbid = :dbid",
    "DELETE FROM log_ons WHERE dbid = :dbid AND entity = :dbid",
)
"""What a login and the log-off after it do to the database."""


def bare_logins_per_cpu_s(count: int, up: Packets, down: Packets, logins: int, folder: Path) -> float:
    """Logins a processor second of the bare loop, with the packets of `logins` measured logins."""
    sealing = _Sealing(up, down, logins)
    path = folder / "limit.sqlite"
    SqliteDatabase(path).close()  # makes the tables
    database = sqlite3.connect(path, isolation_level=None)
    try:
        for setting in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
            database.execute(f"PRAGMA {setting}").fetchall()
        used = time.process_time()
        for first in range(1, count + 1, BATCH):
            dbids = range(first, min(first + BATCH, count + 1))
            for _ in dbids:
                sealing.one_login()
            database.execute("BEGIN IMMEDIATE")
            for dbid in dbids:
                values = {"dbid": dbid, "name": f"newcomer-{dbid}", "record": RECORD}
                for statement in STATEMENTS:
                    database.execute(statement, values).fetchall()
            database.execute("COMMIT")
        return count / (time.process_time() - used)
    finally:
        database.close()


class _Sealing:
    """The keys and packets of a login."""

    def __init__(self, up: Packets, down: Packets, logins: int) -> None:
        self._server = handshake.KeyPair(os.urandom(handshake.KEY_BYTES))
        self._client = handshake.KeyPair(os.urandom(handshake.KEY_BYTES)).public
        self._opened = round(up.count / logins)
        self._sealed = round(down.count / logins)
        self._up = bytes(up.size // max(up.count, 1))
        self._down = bytes(down.size // max(down.count, 1))

    def one_login(self) -> None:
        """Two sessions, and the packets of both."""
        client = handshake.read_public_key(self._client)
        for _ in range(SESSIONS):
            own = handshake.KeyPair(os.urandom(handshake.KEY_BYTES))
            es, ee = self._server.agree(client), own.agree(client)
            handshake.derive_open_key(es, self._client)
            keys = handshake.derive_session_keys(es, ee, self._client)
        cipher = Cipher(Suite.CHACHA20_POLY1305, keys.to_server)
        sealed = cipher.seal(0, self._up, HEADER)
        for _ in range(self._opened):
            cipher.open(0, sealed, HEADER)
        for number in range(self._sealed):
            cipher.seal(number, self._down, HEADER)
