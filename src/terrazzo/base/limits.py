"""The numbers of a BaseApp that bound what others can make it do, and the bucket that counts a rate."""

from __future__ import annotations

from terrazzo.wire.sentences import Sentence

KEYS_MAX = 4096
"""Proxies that wait for their client at one time."""

KEY_S = 15.0
"""How long a login key is good for: until then the player whose client never came (its page was closed meanwhile)
cannot log in again."""

READY_S = 30.0
"""How long a client that has come may take until it is ready."""

BAD_MAX = 20
"""Messages that cannot be understood, or must not be said, until a client is sent away."""

CALL_RATE = 50.0
"""Calls a second of one method by one client, where the method does not say."""

MESSAGE_RATE = 400.0
"""Messages a second of one client, all kinds together. What is over it counts as bad."""

UPDATES_MAX = 64
"""Messages of a cell part that may be lost and wait for mail; beyond, the oldest are lost."""
WANTS_MAX = 1024
"""Entities, or aliases, that one message to a cell part speaks of."""

REASON_MAX = 1000
"""Characters of the reason that a client is told when it is sent away."""

WAITING_MAX = 4096
"""Creations that wait for entity ids."""


class Refused(Sentence):
    """What a client was refused, and the sentence that a console shows for it."""

    WRONG_KEY = "wrong_key", "A client showed a login key that was used, has expired or never was."
    BAD_MESSAGE = "bad_message", "A client sent a message that no client of this game sends."
    OVER_RATE = "over_rate", "A client called a method more often than it may."
    LATE = "late", "A client spoke of an entity that had just left, or moved a body that it had no more."
