"""The asking side of a creation: which BaseApp makes an entity, and what came of it. BaseApps and CellApps have one.

    create ──▶ finding ──FindBaseApp──▶ BaseAppMgr: the least loaded BaseApp     (left out where the app is chosen)
                  │
                  ▼
               asking ──CreateEntity──▶ that BaseApp, again and again until it answers
                  │
                  ▼
               done(entity, "")   or   done(0, why)

The rules:

- *One entity.* Once a BaseApp was asked, no other one is. A request that is repeated has the same number, by which the
  BaseApp recognises it (`base/requested.py`). So a lost link costs time, and makes no second entity.
- *An end.* After CREATE_S it is given up: `done` gets the reason. If a BaseApp was asked, whether the entity exists is
  uncertain then, and that is a part of the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from terrazzo.cluster.app import Host
from terrazzo.errors import CreationFailed
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.refs import Component, Ref
from terrazzo.sync.awaiting import Awaiting, Wait
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.basemgr_base import BaseAppFound, FindBaseApp
from terrazzo.wire.pairs.creation import CreateEntity, EntityCreated
from terrazzo.wire.requests import Failure, Requests
from terrazzo.wire.schedule import Schedule

CREATE_S = 20.0
"""How long a creation may take, all repetitions included."""
ANSWER_S = 12.0
"""Longer than a cell part is looked for (`base/cell_part.py`)."""
AGAIN_S = 0.3

CreationDone = Callable[[int, str], None]
"""Gets the id of the entity; or 0 and the reason why there is none."""


@dataclass
class _Creation:
    wanted: CreateEntity
    done: CreationDone
    deadline: float
    app: AppId | None
    """The BaseApp that makes it."""
    why: str = "the BaseAppMgr is out of reach"
    """The last failure."""


class Creator:
    """The creations that one app has asked for."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        requests: Requests,
        manager: Callable[[], AppId | None],
        make_here: Callable[[CreateEntity, CreationDone], None] | None = None,
    ) -> None:
        """`manager` returns the BaseAppMgr while it is linked; `make_here` makes an entity on this app, a BaseApp."""
        self._me = me
        self._host = host
        self._requests = requests
        self._manager = manager
        self._make_here = make_here
        self._number = 0
        self._later: Schedule[Callable[[], None]] = Schedule(lambda act: False)
        self.open = 0
        """The creations without an end so far."""

    def create(self, wanted: CreateEntity, done: CreationDone, *, is_here: bool = False) -> None:
        """Makes an entity: on this app, or on the least loaded BaseApp. The number of `wanted` is set here."""
        self._number += 1
        self.open += 1
        numbered = CreateEntity(
            self._number, wanted.type_id, wanted.base, wanted.cell, wanted.space, wanted.position, wanted.direction
        )
        app = self._me if is_here else None
        self._go_on(_Creation(numbered, done, self._host.now + CREATE_S, app))

    def on_tick(self) -> None:
        """Tries again what is due."""
        for act in self._later.take(self._host.now):
            act()

    def _go_on(self, creation: _Creation) -> None:
        now, manager = self._host.now, self._manager()
        if now >= creation.deadline:
            doubt = "" if creation.app is None else "; whether it exists is uncertain"
            self._end(creation, 0, f"{creation.why}{doubt}")
        elif creation.app == self._me and self._make_here is not None:
            self._make_here(creation.wanted, partial(self._end, creation))
        elif creation.app is not None:
            self._ask(creation, creation.app, creation.wanted)
        elif manager is not None:
            self._ask(creation, manager, FindBaseApp())
        else:
            self._try_again(creation)

    def _ask(self, creation: _Creation, app: AppId, message: Message) -> None:
        self._requests.ask(
            app,
            message,
            timeout_s=ANSWER_S,
            then=partial(self._on_answer, creation, app),
            failed=partial(self._on_failure, creation, app),
        )

    def _on_answer(self, creation: _Creation, app: AppId, answer: Message) -> None:
        if creation.app is None and isinstance(answer, BaseAppFound):
            creation.app = answer.app
            self._go_on(creation)
        elif creation.app == app and isinstance(answer, EntityCreated):
            self._end(creation, answer.entity, "")
        else:
            self._end(creation, 0, f"{app} answered {type(answer).__name__}: all apps must run the same version")

    def _on_failure(self, creation: _Creation, app: AppId, failure: Failure, why: str) -> None:
        if failure is Failure.REFUSED and creation.app is not None:
            self._end(creation, 0, why)
            return
        creation.why = why or f"{app} did not answer ({failure.value})"
        self._try_again(creation)

    def _try_again(self, creation: _Creation) -> None:
        self._later.add(self._host.now + AGAIN_S, partial(self._go_on, creation))

    def _end(self, creation: _Creation, entity: int, why: str) -> None:
        self.open -= 1
        creation.done(entity, why)


def keep_promise(awaiting: Awaiting, wait: Wait, schema: EntitySchema, entity: int, why: str) -> bool:
    """A creation has ended: what waits for it gets a Ref of the base part, or CreationFailed. False: it has failed, and
    nothing waits for it."""
    if entity:
        awaiting.keep(wait, Ref(entity, Component.BASE, schema.type_id))
        return True
    return awaiting.keep(wait, None, CreationFailed(f"{schema.name}: {why}"))
