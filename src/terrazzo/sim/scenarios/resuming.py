"""The judge of clients that resume (`logins.py` has the workload).

The judge follows each session token from the client that receives it, and each session of a BaseApp:

    a token is accepted   it was sent to this very program, for this very entity; no client was ready with it or with a
                          later one before; no other program has got the entity meanwhile; its time is not over
    a token is refused    one of these does not hold, or the entity has ended
    messages              a message of the cell part has a mark: the number of the client that it was sent for. Within
                          one session the marks are equal, and higher than in the one before

All times are those of the BaseApp's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.entity import BaseLife
from terrazzo.base.proxy import ProxyEntity
from terrazzo.cluster.app import App
from terrazzo.sim.oracle import check
from terrazzo.sync.protocol import token_of
from terrazzo.wire.ids import EntityId


@dataclass
class Token:
    """A token that a client has received."""

    program: str
    number: int
    """Of the tokens of this program."""
    entity: int = 0
    """That of the base player of this program; 0: none has come."""
    is_used: bool = False


class Resuming:
    """All tokens and clients of one world."""

    def __init__(self, reconnect_s: float) -> None:
        self.counts: dict[str, int] = {}
        self._reconnect_s = reconnect_s
        self._tokens: dict[bytes, Token] = {}
        self._newest: dict[str, Token] = {}
        """By program."""
        self._programs: dict[str, str] = {}
        """By address."""
        self._holders: dict[int, str] = {}
        """By entity: the program that has presented the last key or token for it."""
        self._presented: dict[int, bytes] = {}
        """By entity: the token that its present session has presented; empty: a key."""
        self._lost_at: dict[int, float] = {}
        self._sent_away: set[int] = set()
        """Entities with a client that was sent away."""
        self._marks: dict[int, tuple[int, int]] = {}
        """By entity: the session and the mark of the last message that its client has got."""

    # Clients.

    def note_program(self, program: str, address: str) -> None:
        """A program sends from this address."""
        self._programs[address] = program

    def note_token(self, program: str, token: bytes) -> None:
        """A program has received a token."""
        before = self._newest.get(program)
        made = Token(program, 0) if before is None else Token(program, before.number + 1, before.entity)
        self._newest[program] = self._tokens[token] = made

    def may_be_valid(self, token: bytes) -> bool:
        """Whether a program has received this token, and no client has used it up."""
        return token in self._tokens and not self._tokens[token].is_used

    def note_entity(self, program: str, entity: int) -> None:
        """A program has received its base player."""
        if program in self._newest:
            self._newest[program].entity = entity

    def note_mark(self, entity: int, session: int, mark: int) -> None:
        """A client has got a message that was sent for the client of this number; `session` counts the sessions of all
        clients."""
        last_session, last = self._marks.get(entity, (session, mark))
        what = f"the client of entity {entity} got a message for client {mark} in session {session}"
        if last_session == session:
            check(mark == last, "P4", f"{what}, after one for client {last}", entity)
        else:
            check(mark > last, "P4", f"{what}, and one for client {last} in the session before", entity)
        self._marks[entity] = (session, mark)

    # BaseApps.

    def watch(self, app: App) -> None:
        """A process has started: its sessions are followed."""
        if not isinstance(app, BaseApp):
            return
        sessions: Any = app.sessions
        connect = sessions._on_connected

        def on_connected(number: int, session: Any, presented: bytes) -> None:
            token = token_of(presented)
            if token is not None and token not in self._tokens:
                connect(number, session, presented)
                check(sessions.proxy_of((number, session.id)) is None, "P7", "an invented token is accepted")
                return
            problem = "" if token is None else self._problem(app, token, str(session.address))
            connect(number, session, presented)
            proxy = sessions.proxy_of((number, session.id))
            if token is not None:
                self._judge(self._tokens[token], problem, proxy)
            if proxy is not None:
                self._on_attached(app, proxy, str(session.address), token or b"")

        sessions._on_connected = on_connected

    def _problem(self, app: BaseApp, token: bytes, address: str) -> str:
        """Why a token must be refused; empty: it must be accepted."""
        known = self._tokens[token]
        proxy = app.bases.get(EntityId(known.entity))
        since = app.host.now - self._lost_at.get(known.entity, inf)
        if self._programs.get(address) != known.program:
            return "it belongs to another program"
        if known.is_used:
            return "it was used"
        if not isinstance(proxy, ProxyEntity) or proxy.life is not BaseLife.ALIVE:
            return "the entity has ended"
        if self._holders.get(known.entity) != known.program:
            return "another program has the entity"
        if proxy.id in self._sent_away:
            return "its client was sent away"
        if not proxy.has_client and since >= self._reconnect_s:
            return "its time is over"
        return ""

    def _judge(self, token: Token, problem: str, proxy: ProxyEntity | None) -> None:
        self.count("refused" if proxy is None else "resumed")
        what = f"a token of {token.program} for entity {token.entity}"
        if proxy is None:
            is_newest = self._newest[token.program] is token
            check(bool(problem) or not is_newest, "P4", f"{what} is refused", token.entity)
            self.count(problem or "is not the newest")
        else:
            check(not problem, "P4", f"{what} is accepted, and {problem}", token.entity)
            what = f"{what} leads to entity {proxy.id}"
            check(token.entity in (0, proxy.id), "P1", what, token.entity, proxy.id)

    def _on_attached(self, app: BaseApp, proxy: Any, address: str, presented: bytes) -> None:
        self._holders[proxy.id] = self._programs.get(address, address)
        self._presented[proxy.id] = presented
        self._sent_away.discard(proxy.id)
        if "on_ready" in vars(proxy):
            return
        ready, closed = proxy.on_ready, proxy.on_session_closed

        def on_ready() -> None:
            self._use_up(proxy.id)
            ready()

        def on_session_closed(reason: Any, *, by_peer: bool) -> None:
            self._lost_at[proxy.id] = app.host.now
            closed(reason, by_peer=by_peer)

        def send_away(*args: Any) -> None:
            if proxy.has_client:
                self._sent_away.add(proxy.id)
            leave(*args)

        leave, proxy.client.send_away = proxy.client.send_away, send_away
        proxy.on_ready, proxy.on_session_closed = on_ready, on_session_closed

    def _use_up(self, entity: int) -> None:
        """A client is ready: the token that it has presented, and those before it, are used up."""
        presented = self._tokens.get(self._presented[entity])
        if presented is not None:
            for each in self._tokens.values():
                if each.program == presented.program and each.number <= presented.number:
                    each.is_used = True

    def count(self, what: str) -> None:
        """Counts an event, for tests."""
        self.counts[what] = self.counts.get(what, 0) + 1
