"""The names of the bases of one BaseApp (`managers/names.py` has the registry and its rules).

    register_name ──RegisterName──▶ BaseAppMgr, again and again until it answers ──▶ held
    drop_name, the end of the base ──DropName──▶

A name is held from the answer on. If nothing waits for the answer any more, because the time is over or the base is
gone, the name is given back at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from terrazzo.cluster.app import Host
from terrazzo.errors import NameTaken, UsageError
from terrazzo.sync.asking import Asker
from terrazzo.sync.awaiting import Awaiting, Wait
from terrazzo.wire.ids import PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.names import DropName, Named, NamesHeld, RegisterName

HELD_MAX = 1000
"""Names of the bases of one BaseApp: all of them fit into one message."""


class BaseNames:
    """The names of one BaseApp."""

    def __init__(
        self,
        host: Host,
        awaiting: Awaiting,
        asker: Asker,
        send: Callable[[Message], None],
        is_here: Callable[[int], bool],
    ) -> None:
        """`send` sends to the BaseAppMgr if it is linked; `is_here`: whether an entity has its base here."""
        self._host = host
        self._awaiting = awaiting
        self._asker = asker
        self._send = send
        self._is_here = is_here
        self._held: dict[str, Named] = {}
        self._by_entity: dict[int, set[str]] = {}
        self._asked: dict[Named, list[Wait]] = {}
        """What waits for each registration that is under way."""

    def __len__(self) -> int:
        return len(self._held)

    def held(self) -> NamesHeld:
        """All of them, for a manager that has just been linked."""
        return NamesHeld(tuple(self._held.values()))

    def register(self, base: PartId, named: Named, timeout_s: float) -> Wait:
        """A base takes a name."""
        if len(self._held) >= HELD_MAX:
            raise UsageError(
                f"the bases of a BaseApp have at most {HELD_MAX} names: use a base that can be asked instead"
            )
        wait = self._awaiting.promise(base, f"registration of the name {named.name!r}", timeout_s)
        if self._held.get(named.name) == named:
            self._awaiting.keep(wait, None)
        elif named in self._asked:
            self._asked[named].append(wait)
        else:
            self._asked[named] = [wait]
            granted, refused = partial(self._on_granted, named), partial(self._on_refused, named)
            self._asker.ask(RegisterName(named), timeout_s, granted, refused)
        return wait

    def _on_granted(self, named: Named, _: Message) -> None:
        waits = self._asked.pop(named)
        is_wanted = [self._awaiting.keep(wait, None) or wait.number == 0 for wait in waits]
        if any(is_wanted) and self._is_here(named.entity):
            self._held[named.name] = named
            self._by_entity.setdefault(named.entity, set()).add(named.name)
        else:
            self._send(DropName(named))

    def _on_refused(self, named: Named, why: str, is_certain: bool) -> None:
        if not is_certain:
            self._send(DropName(named))  # it may have been granted
        kept = [self._awaiting.keep(wait, None, NameTaken(why)) for wait in self._asked.pop(named)]
        if not all(kept):
            self._host.log(LogEvent.NAME_NOT_REGISTERED, name=named.name, entity=named.entity, why=why)

    def drop(self, entity: int, name: str) -> None:
        """A base gives a name back; one that it does not have is passed over."""
        named = self._held.get(name)
        if named is not None and named.entity == entity:
            del self._held[name]
            self._by_entity[entity].discard(name)
            self._send(DropName(named))

    def on_gone(self, entity: int) -> None:
        """A base is gone."""
        for name in sorted(self._by_entity.get(entity, ())):
            self.drop(entity, name)
        self._by_entity.pop(entity, None)
