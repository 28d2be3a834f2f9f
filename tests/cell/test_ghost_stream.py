"""The table of a ghost's stream, tested as data; then as what really happens: for every pair of state and event, a
CellApp is brought into the state and gets the message. Whole lives in every order: test_cell_ghosts.py."""

from __future__ import annotations

import msgspec
import pytest

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.ghosts.receiver import ACTIONS
from terrazzo.cell.ghosts.stream import TRANSITIONS, GhostAction, GhostEvent, GhostState, next_step, state_of
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.cell_cell import CreateGhost, GhostCreated, GhostList, NextReal, Past, SetReal
from tests.cell.ghost_script import HOMES, A, B, D, create, delete, offload, update

S, E, A_ = GhostState, GhostEvent, GhostAction
STEPS = [(state, event, *step) for state, row in TRANSITIONS.items() for event, step in row.items()]

WITH_BODY = {E.STEP, E.DELETE_AHEAD, E.DELETE_WITH_PAST, E.DELETE_KNOWN, E.ARRIVAL_AHEAD, E.NEXT_REAL_KNOWN, E.UNLISTED}
"""Events that compare a message with the number of a body."""
KNOWN = {event for event in E if event.value.endswith("known")}
ANYWHERE = {E.CREATE_AHEAD, E.SNAPSHOT_AHEAD, E.STEP_AHEAD, E.DELETE, E.ARRIVAL, E.NEXT_REAL, E.SET_REAL_AHEAD}

POSSIBLE = {
    S.ABSENT: ANYWHERE,
    S.ENDED: ANYWHERE | (KNOWN - WITH_BODY),
    S.GHOST: set(E),
    S.REAL: KNOWN,
}
"""The events that can occur in each state."""


# The table.


@pytest.mark.parametrize("event", E, ids=lambda each: each.value)
@pytest.mark.parametrize("state", S, ids=lambda each: each.value)
def test_every_pair_has_a_transition_or_is_refused(state, event):
    if event in POSSIBLE[state]:
        assert next_step(state, event) is TRANSITIONS[state][event]
    else:
        with pytest.raises(AssertionError, match=f"{state.value} here cannot meet the event '{event.value}'"):
            next_step(state, event)


def test_each_action_has_code_and_is_used():
    assert set(ACTIONS) == set(A_) == {action for *_, action in STEPS}


@pytest.mark.parametrize(("state", "event", "after", "action"), STEPS, ids=str)
def test_action_fits_the_change_of_state(state, event, after, action):
    assert (action is A_.MAKE) == (after is S.GHOST and state is not S.GHOST)
    assert (action is A_.BEGIN_REAL) == (after is S.REAL and state is not S.REAL)
    assert (action in (A_.END, A_.END_WITH_PAST)) == (state is S.GHOST and after is S.ENDED)
    if event in KNOWN:
        assert after is state
        assert action not in (A_.APPLY, A_.MAKE, A_.REPLACE, A_.HOLD, A_.HOLD_STEP)
    if event.value.endswith("ahead") and state is S.GHOST and event is not E.SNAPSHOT_AHEAD:
        assert action in (A_.HOLD, A_.HOLD_STEP, A_.HOLD_ARRIVAL, A_.EXPECT), "what is ahead of a ghost is held"


def test_no_message_of_the_stream_changes_a_real():
    assert {step.state for step in TRANSITIONS[S.REAL].values()} == {S.REAL}


# What really happens. The ghost is at number 5 since epoch 1, its real at B; the tombstone ends at 5 in epoch 1.

ENTITY = 1


def before(app: CellApp, state: GhostState) -> None:
    if state is S.GHOST:
        app.on_message(B, create(1, 5))
    elif state is S.ENDED:
        app.on_message(B, create(1, 5))
        app.on_message(B, delete(1, 5))
    elif state is S.REAL:
        app.on_message(B, offload(1, 5, ENTITY, app.me, 5))
    assert state_of(ENTITY, app.bodies.get(ENTITY), app.tombstones) is state
    app.outbox.drain()


MESSAGES: dict[GhostEvent, Message] = {
    E.CREATE_KNOWN: create(0, 4),
    E.CREATE_AHEAD: create(2, 8),
    E.SNAPSHOT_AHEAD: create(2, 8, is_snapshot=True),
    E.STEP_KNOWN: update(1, 5),
    E.STEP: update(1, 6),
    E.STEP_AHEAD: update(1, 8),
    E.DELETE_KNOWN: delete(0, 4),
    E.DELETE: delete(1, 5),
    E.DELETE_AHEAD: delete(1, 8),
    E.DELETE_WITH_PAST: msgspec.structs.replace(delete(1, 8), past=Past(5, (), ())),
    E.ARRIVAL: offload(2, 6, ENTITY, A, 5),
    E.ARRIVAL_AHEAD: offload(2, 8, ENTITY, A, 8),
    E.NEXT_REAL_KNOWN: NextReal(ENTITY, 1, D),
    E.NEXT_REAL: NextReal(ENTITY, 2, D),
    E.SET_REAL_KNOWN: SetReal(ENTITY, 0, 5),
    E.SET_REAL_AHEAD: SetReal(ENTITY, 2, 8),
    E.UNLISTED: GhostList(()),
}


def sent(app: CellApp) -> list[Message]:
    """What the CellApp has sent to the homes of the real."""
    bundles = [bundle for peer, found in app.outbox.drain() if peer in HOMES for bundle in found]
    return [each for bundle in bundles for each in REGISTRY.decode_bundle(bundle) if isinstance(each, Message)]


@pytest.mark.parametrize(("state", "event", "after", "action"), STEPS, ids=str)
def test_cellapp_follows_the_table(strict_app, monkeypatch, state, event, after, action):
    """The action is the one of the table, and so is the state that it leaves behind."""
    app, taken = strict_app, []
    before(app, state)
    for each, code in list(ACTIONS.items()):

        def watched(*args, _action=each, _code=code):
            taken.append(_action)
            _code(*args)

        monkeypatch.setitem(ACTIONS, each, watched)
    message = MESSAGES[event]
    if event is E.CREATE_KNOWN and state is S.ENDED:
        message = create(0, 9)  # where no body is, the epoch decides
    app.on_message(B, message)
    assert taken[0] is action
    assert state_of(ENTITY, app.bodies.get(ENTITY), app.tombstones) is after
    body, held = app.bodies.get(ENTITY), app.receiver.held.get(ENTITY)
    is_waiting = action in (
        A_.HOLD, A_.HOLD_STEP, A_.HOLD_FIRST_STEP, A_.HOLD_ARRIVAL, A_.EXPECT, A_.AWAIT, A_.DOUBT,
        A_.FOLLOW_UNCONFIRMED,
    )  # fmt: skip
    assert (held is not None) == is_waiting
    if state is after is S.GHOST:
        assert body is not None
        assert body.number == {A_.APPLY: 6, A_.REPLACE: 8}.get(action, 5)
    is_confirmed = isinstance(message, CreateGhost) or action in (A_.CONFIRM, A_.EXPECT)
    assert any(isinstance(each, GhostCreated) for each in sent(app)) == (is_confirmed and body is not None)
