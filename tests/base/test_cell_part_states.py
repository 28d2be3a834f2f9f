"""The table of the cell part's states, tested as data: every pair of state and event, possible or not."""

from __future__ import annotations

import pytest

from terrazzo.base.cell_part import ACTIONS
from terrazzo.base.cell_part_states import (
    BEING_CREATED,
    EXISTING,
    TRANSITIONS,
    CellPartAction,
    CellPartEvent,
    CellPartState,
    next_step,
)
from tests.tools.tables import reached_from

S, E, A = CellPartState, CellPartEvent, CellPartAction
PAIRS = [(state, event) for state in S for event in E]
STEPS = [(state, event, *step) for state, row in TRANSITIONS.items() for event, step in row.items()]

IMPOSSIBLE = {
    E.ENTRY: set(S) - {S.FINDING},
    E.NO_ENTRY: set(S) - {S.FINDING},
    E.NO_ENTRY_ANSWER: set(S) - {S.FINDING},
    E.CREATED: {S.NONE, S.FINDING, S.LOST},
    E.REFUSED: {S.NONE, S.FINDING, S.LOST},
    E.NO_ANSWER: {S.NONE, S.FINDING, S.LOST},
    E.NOT_CREATABLE: {S.NONE, S.FINDING, S.LOST},
    E.CHANNEL_CLOSED: set(S) - {S.LEAVING},
    E.CREATOR_DEAD: set(S) - {S.CREATING, S.CANCELLED},
}
"""The states in which an event cannot occur."""


@pytest.mark.parametrize(("state", "event"), PAIRS, ids=lambda each: each.value)
def test_every_pair_has_a_transition_or_is_refused(state, event):
    if state in IMPOSSIBLE.get(event, ()):
        with pytest.raises(AssertionError, match=f"{state.value} cannot meet the event '{event.value}'"):
            next_step(state, event)
    else:
        assert next_step(state, event) is TRANSITIONS[state][event]


def test_each_action_has_code_and_is_used():
    assert set(ACTIONS) == set(A) == {action for *_, action in STEPS}


def test_each_state_is_reached_from_none_and_leads_back_to_none():
    assert all(reached_from(state, TRANSITIONS) == set(S) for state in S)


@pytest.mark.parametrize(("state", "event", "after", "action"), STEPS, ids=str)
def test_action_fits_the_change_of_state(state, event, after, action):
    """The hook for a new cell part runs when it exists, and the hook for its end when there is none."""
    assert (action in (A.ANNOUNCE, A.ANNOUNCE_AGAIN)) == (after is S.THERE and state is not S.THERE)
    assert (action in (A.DESTROY, A.DESTROY_CREATED)) == (after is S.LEAVING and state is not S.LEAVING)
    was_asked_for = state in (S.FINDING, *BEING_CREATED, *EXISTING)
    assert (action in (A.END, A.END_LOST, A.STORE_AND_END)) == (was_asked_for and after in (S.NONE, S.LOST))
    assert (action in (A.FIND, A.FIND_LATER)) <= (after is S.FINDING)
    assert (action in (A.ASK, A.ASK_LATER)) <= (after in BEING_CREATED)
    if action in (A.REFUSE, A.STORE, A.REPORT_DATA):
        assert after is state


def test_taking_down_or_giving_up_never_leaves_a_cell_part_that_stays():
    for state in S:
        assert next_step(state, E.TAKE_DOWN).state in (S.NONE, S.CANCELLED, S.LEAVING)
        assert next_step(state, E.GIVE_UP).state in (S.NONE, S.LOST)


def test_only_none_and_lost_take_a_new_cell_part():
    takers = {state for state in S if next_step(state, E.CREATE).action is not A.REFUSE}
    assert takers == {S.NONE, S.LOST}
