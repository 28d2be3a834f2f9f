"""The registry of names: which base has which, in the whole cluster. Part of the BaseAppMgr.

The rules:

- *One base for a name.* The first RegisterName wins. It may be repeated, since an answer may be lost with a link: the
  base that has the name gets the same answer again.
- *A name is as durable as its base.* It is free when the BaseApp sends that the base is gone, or when a later
  incarnation of that BaseApp has joined: that is started only when the former has ended. While a link is merely lost,
  the names stay taken, since the bases may still be there.
- *The BaseApp knows best.* When its link is up it sends the names that its bases have been granted (NamesHeld), before
  anything else. So what was given back while there was no link is free then. A name that was registered, without the
  answer having arrived, is free as well; the BaseApp asks for it again.
- *A later incarnation of the BaseAppMgr* has the names as soon as each BaseApp has sent NamesHeld. Of two BaseApps that
  send the same name, which happens only if one was out of reach meanwhile, the first wins, and that is logged.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.names import DropName, FindName, Named, NameFound, NameRegistered, NamesHeld, RegisterName
from terrazzo.wire.requests import Question

NAMES_MAX = 1_000_000


class NamesOfBases:
    """The names of one cluster."""

    def __init__(self, manager: ClusterApp) -> None:
        self._manager = manager
        self._names: dict[str, tuple[Named, AppId]] = {}
        manager.answers(RegisterName, self._on_register)
        manager.answers(FindName, self._on_find)
        manager.on(DropName, self._on_drop)
        manager.on(NamesHeld, self._on_held)

    def __len__(self) -> int:
        return len(self._names)

    def on_joined(self, app: AppId) -> None:
        """A BaseApp has joined: former incarnations of it have ended."""
        self._free(lambda home: home.slot == app.slot and home < app)

    def _on_register(self, question: Question) -> None:
        asked = question.message
        assert isinstance(asked, RegisterName)
        requests, holder = self._manager.requests, self._names.get(asked.named.name)
        if holder is None and len(self._names) >= NAMES_MAX:
            requests.refuse(question, f"there are {NAMES_MAX} names already")
        elif holder is None:
            self._names[asked.named.name] = (asked.named, question.source)
            requests.answer(question, NameRegistered())
        elif holder == (asked.named, question.source):
            requests.answer(question, NameRegistered())
        else:
            requests.refuse(question, f"entity {holder[0].entity} has the name {asked.named.name!r}")

    def _on_find(self, question: Question) -> None:
        asked = question.message
        assert isinstance(asked, FindName)
        holder = self._names.get(asked.name)
        self._manager.requests.answer(question, NameFound(None if holder is None else holder[0]))

    def _on_drop(self, source: AppId, message: DropName) -> None:
        if self._names.get(message.named.name) == (message.named, source):
            del self._names[message.named.name]

    def _on_held(self, source: AppId, message: NamesHeld) -> None:
        self._free(lambda home: home == source)
        for named in message.names:
            holder = self._names.setdefault(named.name, (named, source))
            if holder != (named, source):
                self._manager.host.log(
                    LogEvent.NAME_HELD_TWICE, name=named.name, entity=named.entity, other=holder[0].entity
                )

    def _free(self, is_over: Callable[[AppId], bool]) -> None:
        for name in [name for name, (_, home) in self._names.items() if is_over(home)]:
            del self._names[name]
