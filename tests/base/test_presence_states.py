"""The table of the states of a proxy's client, tested as data: every pair of state and event, possible or not."""

from __future__ import annotations

import pytest

from terrazzo.base.presence import ACTIONS
from terrazzo.base.presence_states import CONNECTED, TRANSITIONS, Presence, PresenceAction, PresenceEvent, next_step
from tests.tools.tables import reached_from

S, E, A = Presence, PresenceEvent, PresenceAction
PAIRS = [(state, event) for state in S for event in E]
STEPS = [(state, event, *step) for state, row in TRANSITIONS.items() for event, step in row.items()]

POSSIBLE = {
    E.EXPECT: set(S) - {S.LEAVING},
    E.NO_CLIENT: {S.WAITING},
    E.ATTACH: {S.WAITING, S.ATTACHED, S.READY, S.AWAY, S.KEPT},
    E.RESUME: {S.ATTACHED, S.READY, S.AWAY},
    E.READY: {S.ATTACHED},
    E.BYE: {S.ATTACHED, S.READY},
    E.LOST: {S.ATTACHED, S.READY, S.LEAVING},
    E.CUT: {S.ATTACHED, S.READY, S.LEAVING},
    E.TOO_LATE: {S.AWAY},
    E.SEND_AWAY: {S.ATTACHED, S.READY},
    E.KEEP: {S.LEAVING},
    E.DESTROY: set(S),
    E.GONE: {S.ABSENT, S.LEAVING},
}
"""The states in which each event can occur."""


@pytest.mark.parametrize(("state", "event"), PAIRS, ids=lambda each: each.value)
def test_every_pair_has_a_transition_or_is_refused(state, event):
    if state in POSSIBLE[event]:
        assert next_step(state, event) is TRANSITIONS[state][event]
    else:
        with pytest.raises(AssertionError, match=f"{state.value} cannot meet the event '{event.value}'"):
            next_step(state, event)


def test_each_action_has_code_and_is_used():
    assert set(ACTIONS) == set(A) == {action for *_, action in STEPS}


def test_each_state_is_reached_from_absent_and_leads_back_to_absent():
    assert all(reached_from(state, TRANSITIONS) == set(S) for state in S)


@pytest.mark.parametrize(("state", "event", "after", "action"), STEPS, ids=str)
def test_client_that_is_let_go_gets_a_last_message_or_is_gone(state, event, after, action):
    """No transition forgets a connected client without a last message, a loss, or the wait for the save."""
    if state in CONNECTED and after not in CONNECTED:
        assert action in (A.PART, A.LOSE, A.CUT_OFF, A.DISMISS, A.STOP_READING)
    if event in (E.ATTACH, E.RESUME):
        instead = A.REPLACE if event is E.ATTACH else A.RENEW
        assert (after, action) == (S.ATTACHED, instead if state in CONNECTED else A.GREET)
    if after is S.READY and state is not S.READY:
        assert action is A.BEGIN
