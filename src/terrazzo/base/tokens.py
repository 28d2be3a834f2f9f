"""Session tokens: with one, a client that lost its connection gets its proxy again, without a login.

    attached ──▶ a new token, sent as the first message of the session (`protocol.encode_session`)
    a session presents a valid token ──▶ the client has resumed, at the proxy of the token
    ready ──▶ every earlier token is void: the client has the new one
    lost ──▶ the tokens expire when the client's time to resume is over (`Proxy.reconnect_s`)
    left, sent away, taken over, entity gone ──▶ the tokens are void

A token is sixteen random bytes which pass between the BaseApp and its client only, inside the session. It names one
proxy of this BaseApp, and is used up by the client that becomes ready with it. If that connection is lost before, the
client may not have got the next token; so it may present the same one again, and whatever it presented before is void.
A proxy has at most two tokens, so the table needs no limit of its own.
"""

from __future__ import annotations

from math import inf

from terrazzo.sync.protocol import TOKEN_BYTES
from terrazzo.wire.client.session import Entropy
from terrazzo.wire.ids import EntityId


class SessionTokens:
    """The valid tokens of one BaseApp."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._tokens: dict[bytes, tuple[EntityId, float]] = {}
        """By token: its proxy, and when it expires."""

    def __len__(self) -> int:
        return len(self._tokens)

    def make(self, entity: EntityId) -> bytes:
        """A new token for this proxy."""
        token = self._entropy(TOKEN_BYTES)
        assert token not in self._tokens, "the source of entropy repeats itself"
        self._tokens[token] = (entity, inf)
        return token

    def find(self, token: bytes, now: float) -> EntityId | None:
        """The proxy of a valid token."""
        entity, until = self._tokens.get(token, (None, inf))
        return entity if now < until else None

    def set_end(self, token: bytes, until: float) -> None:
        """The token expires then."""
        self._tokens[token] = (self._tokens[token][0], until)

    def forget(self, token: bytes) -> None:
        """The token is void."""
        del self._tokens[token]


class ClientTokens:
    """The valid tokens of one proxy: the newest last."""

    def __init__(self, tokens: SessionTokens, entity: EntityId) -> None:
        self._tokens = tokens
        self._entity = entity
        self._valid: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._valid)

    def renew(self, presented: bytes | None) -> bytes:
        """A new token for a client that has presented this one, or a login key."""
        for each in self._valid:
            if each != presented:
                self._tokens.forget(each)
        self._valid = [each for each in self._valid if each == presented]
        for each in self._valid:
            self._tokens.set_end(each, inf)
        self._valid.append(self._tokens.make(self._entity))
        return self._valid[-1]

    def confirm(self) -> None:
        """The client has the newest token: the one before it is used up."""
        for each in self._valid[:-1]:
            self._tokens.forget(each)
        del self._valid[:-1]

    def set_end(self, until: float) -> None:
        """The client may resume until then."""
        for each in self._valid:
            self._tokens.set_end(each, until)

    def forget(self) -> None:
        """The client may not resume."""
        for each in self._valid:
            self._tokens.forget(each)
        self._valid.clear()
