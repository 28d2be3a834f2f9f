"""The judge's record of the steps of a real has what the history of each copy has."""

from __future__ import annotations

from functools import partial

from terrazzo.cell.core.history import EntityEvent, History, Manner
from terrazzo.sim.scenarios.seamless.entity_story import Steps
from terrazzo.sync.protocol import EntityMessage

LATEST, LATEST_LOST, CALL = Manner(is_latest=True), Manner(is_latest=True, is_reliable=False), Manner()


def event(subject: int, body: bytes, manner: Manner) -> EntityEvent:
    return EntityEvent(subject, EntityMessage(158, body), manner)


def told(steps: list[list[EntityEvent]]) -> tuple[list[EntityEvent] | None, list[EntityEvent]]:
    """The events of these steps after step 1, by a history and by the judge's record of it."""
    history, record = History(0), Steps()
    for number, events in enumerate(steps, 1):
        history.add(number, events)
        record.add(number, history.since(number - 1) or [], partial(history.has_changed, number=number - 1))
    return history.since(1), record.between(1, len(steps))


def test_an_unreliable_change_replaces_a_stored_one_of_its_property():
    kept, judged = told(
        [
            [event(0, b"before", LATEST)],
            [event(0, b"too large for a datagram", LATEST), event(-1, b"call", CALL)],
            [event(1, b"other", LATEST)],
            [event(0, b"small", LATEST_LOST)],
        ]
    )
    assert kept == judged
    assert [each.message.body for each in judged] == [b"call", b"other"]


def test_the_last_stored_change_of_a_property_is_kept():
    kept, judged = told(
        [[], [event(0, b"1", LATEST), event(0, b"2", LATEST)], [event(-1, b"call", CALL)], [event(0, b"3", LATEST)]]
    )
    assert kept == judged
    assert [each.message.body for each in judged] == [b"call", b"3"]
