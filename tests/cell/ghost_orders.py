"""Delivers the scripts of a ghost in every order, to an app that checks its ghosts at each step."""

from __future__ import annotations

from terrazzo.cell.cellapp import CellApp
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from tests.cell.ghost_script import HOMES, Script, interleavings, place_of


def found(app: CellApp, entity: int) -> tuple[int, int, AppId] | None:
    """The ghost, which must be in a state that its real had."""
    body = app.bodies.get(entity)
    if body is None:
        return None
    assert body.state["steps"] == body.number
    assert body.position == place_of(body.number)
    return body.number, body.epoch, body.real_app


def deliver(app: CellApp, order: list[tuple[AppId, Message]], entity: int) -> None:
    last: tuple[int, int] | None = None
    for source, message in order:
        app.on_message(source, message)
        now = found(app, entity)
        if now is not None:
            assert last is None or now[:2] >= last, "it went back"
            last = now[:2]


def wipe(app: CellApp) -> None:
    """Room for the next: entities are never used twice."""
    for body in list(app.bodies.values()):
        app.core.remove_body(body)
    app.spaces[1].area.step()
    app.outbox.drain()


def in_order(script: Script, order: list[tuple[AppId, Message]]) -> list[tuple[AppId, Message]]:
    """The messages of a script, in an order that was found for another script of the same word."""
    queues = {home: iter(link) for home, link in zip(HOMES, script.links, strict=True)}
    return [(source, next(queues[source])) for source, _ in order]


def check_word(app: CellApp, word: str, entity: int) -> int:
    """One script in all its orders; the next free entity."""
    for order in interleavings(Script(word, 0).links):
        script = Script(word, entity)
        deliver(app, in_order(script, order), entity)
        assert found(app, entity) == script.expected, (word, order)
        assert entity not in app.receiver.held, (word, order)
        entity += 1
    wipe(app)
    return entity
