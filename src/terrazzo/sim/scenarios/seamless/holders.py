"""At every moment some CellApp holds each living entity, and a cell that is reported as empty holds none (P1).

    holds      its real; or a real that has arrived and waits; or the packed real that was sent and is not confirmed

A copy that was sent is dropped when it is confirmed: then its receiver holds the entity, or has sent it on, or has
destroyed it. If it is dropped for any other reason, there is a moment in which no CellApp holds the entity. The message
on its way then may still arrive; but if its link breaks, the entity is lost, so the moment itself is the failure.

A CellApp reports to the manager that its cell of a space is empty (`CellEmpty`). The manager relies on that: an entity
that the CellApp still held would come back, or begin, in a space that the manager has removed.
"""

from __future__ import annotations

from terrazzo.cell.cellapp import CellApp
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.cell_cell import Offload
from terrazzo.wire.pairs.cellmgr_cell import CellEmpty


class Holders:
    """The judge of all CellApps of one world."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._apps: list[CellApp] = []
        self._kept: dict[CellApp, dict[int, int]] = {}
        """By entity, the epoch of the copy that was kept at the last check."""

    def watch(self, app: CellApp) -> None:
        """Called when a CellApp has started."""
        self._apps.append(app)
        self._kept[app] = {}
        send = app.core.send

        def sent(peer: AppId, message: Message) -> int:
            if isinstance(message, CellEmpty):
                self._check_empty(app, message.space)
            return send(peer, message)

        vars(app.core)["send"] = sent

    def look(self, app: CellApp) -> None:
        """Checks a CellApp after each tick, and each frame received."""
        before = self._kept[app]
        if not before and not app.offloads.kept:
            return
        now = {entity: kept.message.epoch for entity, kept in app.offloads.kept.items()}
        for entity, epoch in before.items():
            if now.get(entity) != epoch:
                story = self._judge.story(entity)
                is_over = story is None or story.is_over
                what = f"{app.me} has given up the copy of entity {entity} of epoch {epoch}, and no CellApp holds it"
                check(is_over or self._is_held(entity), "P1", what, entity)
        self._kept[app] = now

    def _is_held(self, entity: int) -> bool:
        return any(
            entity in app.reals or entity in app.offloads.kept or any(each.entity == entity for each in _arrivals(app))
            for app in self._apps
        )

    def _check_empty(self, app: CellApp, space: int) -> None:
        held: list[int] = [real.body.id for real in app.reals.values() if real.body.space.id == space]
        kept = [kept.message for kept in app.offloads.kept.values()]
        held += [each.entity for each in (*kept, *_arrivals(app)) if space in _spaces(each)]
        what = f"{app.me} reports that its cell of space {space} is empty, and holds {sorted(held)} of it"
        check(not held, "P1", what, *held)


def _arrivals(app: CellApp) -> list[Offload]:
    """The reals that have arrived and wait."""
    turns = (turn.message for held in app.receiver.held.values() for turn in held.transitions)
    return [each for each in turns if isinstance(each, Offload)]


def _spaces(message: Offload) -> tuple[int, ...]:
    """The space that a real comes from, and the one that it jumps to."""
    return (message.space,) if message.jump is None else (message.space, message.jump.space)
