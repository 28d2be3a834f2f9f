"""The table of a log-on's states, tested as data; and what arrives after an attempt has ended."""

from __future__ import annotations

import pytest

from terrazzo.db.logon import ACTIONS
from terrazzo.db.logon_states import TRANSITIONS, LogOnAction, LogOnEvent, LogOnState, next_step
from terrazzo.db.store import LoadEntity, StoreError
from terrazzo.wire.common import Reply, Request
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_db import TakenOver, TakeOver
from tests.db.harness import BASE, LOGIN, Office
from tests.tools.tables import reached_from

S, E, A, R = LogOnState, LogOnEvent, LogOnAction, LoginRefusal
STEPS = [(state, event, *step) for state, row in TRANSITIONS.items() for event, step in row.items()]
FINAL = (S.LOGGED_ON, S.REFUSED)

POSSIBLE = {
    S.FINDING: {E.ABANDONED, E.KNOWN, E.NEW_NAME, E.KNOWN_BOT, E.NEW_BOT, E.BAD_NAME, E.STORE_FAILED},
    S.CHECKING: {E.RIGHT, E.WRONG, E.STORE_FAILED},
    S.HASHING: {E.HASHED, E.BAD_NAME, E.STORE_FAILED},
    S.CREATING: {E.CREATED, E.NAME_TAKEN, E.STORE_FAILED},
    S.CLAIMING: {E.NO_TYPE, E.CONTESTED, E.CLAIMED, E.HELD, E.HELD_OUT_OF_REACH, E.STILL_HELD, E.LOADED,
                 E.STORE_FAILED},
    S.LOADING: {E.LOADED, E.NO_RECORD, E.NOT_READY, E.WORLD_FULL, E.STORE_FAILED},
    S.ASKING_CLIENT: {E.PROXY_GOING, E.TAKEN, E.CLIENT_STAYS, E.LOADED, E.STORE_FAILED},
    S.YIELDING: {E.CLEARED, E.YIELD_TIMEOUT, E.LOADED, E.STORE_FAILED},
    S.PLACING: {E.PLACED, E.LEFT, E.PLACE_REFUSED, E.WORLD_FULL, E.NO_PLACE_ANSWER, E.PLACE_LINK_LOST},
    S.RECORDING: {E.RECORDED, E.LEFT, E.STORE_FAILED},
    S.LOGGED_ON: set(),
    S.REFUSED: set(),
}  # fmt: skip
"""The events that can occur in each state."""


@pytest.mark.parametrize("event", E, ids=lambda each: each.value)
@pytest.mark.parametrize("state", S, ids=lambda each: each.value)
def test_every_pair_has_a_transition_or_is_refused(state, event):
    if event in POSSIBLE[state]:
        assert next_step(state, event) is TRANSITIONS[state][event]
    else:
        with pytest.raises(AssertionError, match=f"{state.value} cannot meet the event '{event.value}'"):
            next_step(state, event)


def test_each_action_has_code_and_is_used():
    assert set(ACTIONS) == set(A) == {action for _, _, _, action, _ in STEPS}


@pytest.mark.parametrize(("state", "event", "after", "action", "refusal"), STEPS, ids=str)
def test_refused_is_the_only_state_with_a_reason_and_only_a_placement_can_be_in_doubt(
    state, event, after, action, refusal
):
    assert (refusal is not None) == (after is S.REFUSED)
    assert (action is A.DOUBT) == (event in (E.NO_PLACE_ANSWER, E.PLACE_LINK_LOST))
    assert (action is A.CLAIM) == (after is S.CLAIMING and state is not S.CLAIMING)
    assert state not in FINAL


def test_each_state_is_reached_and_leads_to_an_end():
    assert reached_from(S.FINDING, TRANSITIONS) == set(S)
    assert all(reached_from(state, TRANSITIONS) >= set(FINAL) for state in S if state not in FINAL)


def test_already_logged_on_is_answered_only_after_the_password():
    early = (S.FINDING, S.CHECKING, S.HASHING, S.CREATING)
    assert R.ALREADY_LOGGED_ON not in {refusal for state, *_, refusal in STEPS if state in early}


@pytest.mark.parametrize("is_going", [True, False])
def test_second_login_is_refused_once_when_the_store_fails_to_read_the_entity(monkeypatch, is_going):
    """The answer of the BaseApp, which comes later, finds an attempt that has ended: it changes nothing."""
    office = Office()
    office.app.on_link_up(BASE)
    office.arrive()
    run = office.database._run
    unreadable = StoreError("the disk cannot be read")
    monkeypatch.setattr(office.database, "_run", lambda each: unreadable if isinstance(each, LoadEntity) else run(each))
    number = office.log_on()
    office.ticks()
    assert office.answer(LOGIN, number) == R.NOT_STORED.sentence
    [asked] = [each for each in office.said.pop(BASE, []) if isinstance(each, Request)]
    assert REGISTRY.decode_nested(asked.item) == TakeOver(77, "192.0.2.7")
    office.app.on_message(BASE, Reply(asked.number, REGISTRY.encode(TakenOver(is_going))))
    office.ticks(3)
    assert (len(office.app.log_ons), office.app.log_ons.claiming) == (0, {})
    assert office.placements() == []
