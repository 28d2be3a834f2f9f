"""The limits of a BaseApp: how much clients and peers can make it store or do."""

from __future__ import annotations

from terrazzo.wire.sentences import Sentence

KEYS_MAX = 4096
"""Proxies that wait for their client at one time."""

KEY_S = 15.0
"""How long a login key is valid. If the client never connects (its page was closed meanwhile), the player cannot log in
again before that."""

READY_S = 30.0
"""How long a connected client may take until it is ready."""

BAD_MAX = 20
"""Malformed or forbidden messages after which a client is disconnected."""

CALL_RATE = 50.0
"""Calls a second of one method by one client, where the method declares no rate."""

MESSAGE_RATE = 400.0
"""Messages a second of one client, all kinds together. A message over this rate counts as a bad one."""

FLOOD = f"more than {MESSAGE_RATE:.0f} messages a second"

MOVE_S = 0.04
"""The shortest time between two moves of one client that its cell part receives; of those in between the latest counts.
"""

UPDATES_MAX = 64
"""Unreliable updates of a cell part that wait for earlier mail; beyond this number the oldest are dropped."""
WANTS_MAX = 1024
"""Entities, or aliases, in one ClientWants message to a cell part."""

REASON_MAX = 1000
"""Characters of the reason that a disconnected client is sent."""

WAITING_MAX = 4096
"""Creations that wait for entity ids."""


class ClientRefusal(Sentence):
    """Why a message of a client was refused, with the sentence that the console shows for it."""

    WRONG_KEY = "wrong_key", "A client showed a login key that was used, has expired or never was."
    WRONG_TOKEN = "wrong_token", "A client showed a session token that was used, has expired or never was."
    BAD_MESSAGE = "bad_message", "A client sent a message that no client of this game sends."
    OVER_RATE = "over_rate", "A client called a method more often than it may."
    LATE = "late", "A client spoke of an entity that had just left, or moved a body that it had no more."
