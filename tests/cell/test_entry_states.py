"""The table of an entry's states, tested as data; then as what really happens: for every pair of state and event, an
entry of a real client is brought into the state and meets the event."""

from __future__ import annotations

import msgspec
import pytest

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo._speed.updates import UpdateRows, Words
from terrazzo.cell.client.entry_states import (
    TRANSITIONS,
    EntryAction,
    EntryEvent,
    EntryState,
    next_step,
    state_of,
)
from terrazzo.cell.client.sent import WANT_S
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.pairs.base_cell import ClientWants
from tests.cell.land import Land
from tests.tools.tables import reached_from

S, E, A = EntryState, EntryEvent, EntryAction
STEPS = [(state, event, *step) for state, row in TRANSITIONS.items() for event, step in row.items()]
SERVING = (E.SERVE, E.SERVE_WITHHELD, E.SERVE_GONE)

IMPOSSIBLE = {
    **{event: {S.ABSENT} for event in (*SERVING, E.CHANGE_SPACE)},
    E.ADD: set(S) - {S.ABSENT},
}
"""The states in which an event cannot occur."""

SENDS = {
    A.NOTHING: [],
    A.ADD: [],
    A.ANNOUNCE: ["announce"],
    A.STORE_WANT: [],
    A.DESCRIBE: ["describe"],
    A.SEND_NEWS: ["news"],
    A.LEAVE: ["leave"],
    A.NEWS_AND_LEAVE: ["news", "leave"],
    A.REST: [],
}
"""What the client is sent by each action."""


# The table.


@pytest.mark.parametrize("event", E, ids=lambda each: each.value)
@pytest.mark.parametrize("state", S, ids=lambda each: each.value)
def test_every_pair_has_a_transition_or_is_refused(state, event):
    if state in IMPOSSIBLE.get(event, ()):
        with pytest.raises(AssertionError, match=f"{state.value} cannot meet the event '{event.value}'"):
            next_step(state, event)
    else:
        assert next_step(state, event) is TRANSITIONS[state][event]


def test_each_action_is_used():
    assert set(SENDS) == set(A) == {action for *_, action in STEPS}


def test_each_state_is_reached_from_absent_and_leads_back_to_absent():
    assert all(reached_from(state, TRANSITIONS) == set(S) for state in S)


@pytest.mark.parametrize(("state", "event", "after", "action"), STEPS, ids=str)
def test_client_is_sent_what_the_rules_ask_for(state, event, after, action):
    has_alias, keeps_alias = (each in (S.ANNOUNCED, S.WANTED, S.DESCRIBED) for each in (state, after))
    assert (action is A.ANNOUNCE) == (not has_alias and keeps_alias)
    ends = action in (A.LEAVE, A.NEWS_AND_LEAVE, A.REST)
    assert ends == (has_alias and not keeps_alias), "what was announced ends once, and an alias rests then"
    assert (action is A.REST) <= (event is E.CHANGE_SPACE), "only a client in another space forgets by itself"
    assert (action is A.DESCRIBE) == (state is S.WANTED and after is S.DESCRIBED)
    assert (action in (A.SEND_NEWS, A.NEWS_AND_LEAVE)) <= (state is S.DESCRIBED), "no change before the description"


def test_an_impossible_combination_of_alias_and_flags_is_refused():
    for alias, flags in ((0, EntryFlag.DESCRIBED), (0, EntryFlag.WANTED), (3, EntryFlag.DESCRIBED | EntryFlag.WANTED)):
        with pytest.raises(AssertionError, match="an entry"):
            state_of(alias, flags)
    assert state_of(0, -1) is S.ABSENT


# What really happens.

OTHER = 2


class Play:
    """The record of one client, with an entry of another entity that is brought into a state by the events that lead
    there."""

    def __init__(self, state: EntryState) -> None:
        self.land = Land(1)
        self.land.create(1, 0.0, is_seen=True)
        self.land.create(OTHER, 300.0)
        self.land.settle()
        self.record = self.land.witness(1).sent
        self.other = self.land[0].bodies[OTHER]
        self.sent: list[str] = []
        self.rested: set[int] = set()
        for event in {
            S.ABSENT: [],
            S.UNANNOUNCED: [E.ADD],
            S.ANNOUNCED: [E.ADD, E.SERVE],
            S.WANTED: [E.ADD, E.SERVE, E.WANT],
            S.DESCRIBED: [E.ADD, E.SERVE, E.WANT, E.SERVE],
        }[state]:
            self.meet(event)
        assert self.state is state

    @property
    def state(self) -> EntryState:
        entry = self.record.get(OTHER)
        return S.ABSENT if entry is None else state_of(entry[1], entry[3])

    def meet(self, event: EntryEvent) -> None:
        flags = self.record.sight.flags(OTHER)
        self.sent, before = [], set(self.record.aliases.resting)
        if event in SERVING:
            more = {E.SERVE: 0, E.SERVE_WITHHELD: EntryFlag.WITHHELD, E.SERVE_GONE: EntryFlag.GONE}[event]
            self.record.set_flags(OTHER, flags | more)
            self._step_of_the_other()
            self._update(10_000.0)
        elif event is E.ADD:
            self.record.add(self.other, EntryFlag.IN_AREA)
        elif event is E.WANT:
            self.record.on_wants(ClientWants(1, ((OTHER, 5),), ()))
        elif event is E.WANT_TIMEOUT:
            self.land.host.now += WANT_S
            self._update(0.0)
        else:
            self.record.drop_all(self.land.host.now)
        self.rested = set(self.record.aliases.resting) - before

    def _step_of_the_other(self) -> None:
        """A change that a client with the description is sent as news."""
        self.land.act(OTHER, "step")
        self.land[0].steps.close_all()

    def _update(self, room: float) -> None:
        self.record.budget.grant(self.land.host.now, 0.1, room)
        words = Words(1 << 30)
        self.record.update(self.land.host.now, 1, 50.0, words, UpdateRows())
        told = [message for payload in words.take(1) for message in msgspec.msgpack.decode(payload)[1][1]]
        self.sent = list(dict.fromkeys(kind_of(message) for message in told))  # a step is several changes


def kind_of(message: bytes) -> str:
    names: dict[int, str] = {ToClient.ANNOUNCE: "announce", ToClient.DESCRIBE: "describe", ToClient.LEAVE: "leave"}
    return names.get(message[0], "news")


@pytest.mark.parametrize(("state", "event", "after", "action"), STEPS, ids=str)
def test_entry_of_a_client_follows_the_table(state, event, after, action):
    play = Play(state)
    play.meet(event)
    assert play.state is after
    assert play.sent == SENDS[action]
    assert bool(play.rested) == (action in (A.LEAVE, A.NEWS_AND_LEAVE, A.REST))
    assert (OTHER in play.record.left) == (after is S.ABSENT and state is not S.ABSENT)
    assert (OTHER in play.record._remembered) == (action is A.STORE_WANT or (state is after is S.WANTED))


def test_entry_that_is_gone_ignores_a_want_and_serves_as_gone_though_it_is_withheld():
    play = Play(S.ANNOUNCED)
    play.record.set_flags(OTHER, play.record.sight.flags(OTHER) | EntryFlag.GONE | EntryFlag.WITHHELD)
    play.meet(E.WANT)
    assert play.state is S.ANNOUNCED
    play.meet(E.SERVE)
    assert (play.state, play.sent) == (S.ABSENT, ["leave"])
