"""The life of a client's entry: what the client has of one entity, as a table of every transition.

    ABSENT ── ADD ──▶ UNANNOUNCED ── SERVE: announce ──▶ ANNOUNCED ── WANT, WANT_TIMEOUT ──▶ WANTED
      ▲                    ▲                                │                                  │
      │                    │                                │                       SERVE: describe
      │                    │                                ▼                                  ▼
      │                    └────── SERVE_WITHHELD: leave ───┴────────────────────────────  DESCRIBED ⟲ SERVE: news
      └─────────────────────────── SERVE_GONE: leave, from every state ──────────────────────────┘

`TRANSITIONS[state][event]` is the next state and what is done then. A pair that is not in the table cannot occur.

The state is not stored. It follows from the alias and the flags of an entry (`state_of`), which are in compiled tables
(`_speed/sight`): most entries are DESCRIBED, and each tick looks at all of them. For the same reason
`cell/client/sent.py` tests flags where other machines look into their table. `tests/cell/test_entry_states.py` brings
an entry of a real client into each state, lets each event happen, and compares what follows with this table.

The rules:

1. The client gets nothing about an entity before its announcement, and no change before its description.
2. An announcement takes an alias. Each leave lets that alias rest until the client has released it.
3. What has been announced to the client ends for it with exactly one leave. Only a change of space needs none: the
   client drops all entities of the former space by itself.
4. A leave comes after the last steps of the entity, if the client has its description.
5. An entry that ends is remembered for a while (`ClientRecord.left`), so that an older copy does not bring it back.

Three more flags do not change the state: IN_AREA and MANUAL are the reasons for an entry, PARTED means that the entity
has left for the game. WITHHELD and GONE choose which of the three serving events the next update is; GONE overrides
WITHHELD.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from terrazzo._speed.entry_flags import EntryFlag

_DESCRIBED = EntryFlag.DESCRIBED.value
_DESCRIBED_OR_WANTED = _DESCRIBED | EntryFlag.WANTED.value


class EntryState(Enum):
    """What the client has of an entity."""

    ABSENT = "absent"
    """There is no entry."""
    UNANNOUNCED = "unannounced"
    """There is an entry, of which the client was sent nothing, or a leave at last."""
    ANNOUNCED = "announced"
    """The client was sent the alias and the type, and has not answered yet."""
    WANTED = "wanted"
    """The description is due."""
    DESCRIBED = "described"
    """The client was sent all properties; each step after that follows."""


class EntryEvent(Enum):
    """What happens to an entry."""

    ADD = "add"
    """The entity enters the area: it is near, or the game adds it."""
    SERVE = "serve"
    """An update with room left. The body is here, and as new as what the client has."""
    SERVE_WITHHELD = "serve, withheld"
    """An update of an entity that the game withholds."""
    SERVE_GONE = "serve, gone"
    """An update of an entity that has left the area."""
    WANT = "want"
    """The client answers an announcement. The answer may be late, and of a former entry of the same entity. Of an
    entry that is GONE it is ignored."""
    WANT_TIMEOUT = "want timeout"
    """WANT_S after an announcement: the answer may be lost with a body or a link."""
    CHANGE_SPACE = "change space"
    """The client is in another space, and has dropped all entities of the former one."""


class EntryAction(Enum):
    """What is done at a transition."""

    NOTHING = "nothing"
    ADD = "add"
    """Make the entry."""
    ANNOUNCE = "announce"
    """Take an alias, send the announcement, and wait for the answer."""
    STORE_WANT = "store want"
    """Store up to which step the client remembers the entity from before."""
    DESCRIBE = "describe"
    """Send all properties of its level of detail and its place, and its ride if it has one."""
    SEND_NEWS = "send news"
    """Send the steps that the client lacks, and its place when that is due."""
    LEAVE = "leave"
    """Send leave; the alias rests."""
    NEWS_AND_LEAVE = "news and leave"
    """Send the steps that the client lacks, then leave; the alias rests."""
    REST = "rest"
    """The alias rests; the client is sent nothing."""


class Transition(NamedTuple):
    """One transition."""

    state: EntryState
    action: EntryAction = EntryAction.NOTHING


_S, _E, _A = EntryState, EntryEvent, EntryAction

TRANSITIONS: dict[EntryState, dict[EntryEvent, Transition]] = {
    _S.ABSENT: {
        _E.ADD: Transition(_S.UNANNOUNCED, _A.ADD),
        _E.WANT: Transition(_S.ABSENT),
        _E.WANT_TIMEOUT: Transition(_S.ABSENT),
    },
    _S.UNANNOUNCED: {
        _E.SERVE: Transition(_S.ANNOUNCED, _A.ANNOUNCE),
        _E.SERVE_WITHHELD: Transition(_S.UNANNOUNCED),
        _E.SERVE_GONE: Transition(_S.ABSENT),
        _E.WANT: Transition(_S.UNANNOUNCED),
        _E.WANT_TIMEOUT: Transition(_S.UNANNOUNCED),
        _E.CHANGE_SPACE: Transition(_S.ABSENT),
    },
    _S.ANNOUNCED: {
        _E.SERVE: Transition(_S.ANNOUNCED),
        _E.SERVE_WITHHELD: Transition(_S.UNANNOUNCED, _A.LEAVE),
        _E.SERVE_GONE: Transition(_S.ABSENT, _A.LEAVE),
        _E.WANT: Transition(_S.WANTED, _A.STORE_WANT),
        _E.WANT_TIMEOUT: Transition(_S.WANTED),
        _E.CHANGE_SPACE: Transition(_S.ABSENT, _A.REST),
    },
    _S.WANTED: {
        _E.SERVE: Transition(_S.DESCRIBED, _A.DESCRIBE),
        _E.SERVE_WITHHELD: Transition(_S.UNANNOUNCED, _A.LEAVE),
        _E.SERVE_GONE: Transition(_S.ABSENT, _A.LEAVE),
        _E.WANT: Transition(_S.WANTED, _A.STORE_WANT),
        _E.WANT_TIMEOUT: Transition(_S.WANTED),
        _E.CHANGE_SPACE: Transition(_S.ABSENT, _A.REST),
    },
    _S.DESCRIBED: {
        _E.SERVE: Transition(_S.DESCRIBED, _A.SEND_NEWS),
        _E.SERVE_WITHHELD: Transition(_S.UNANNOUNCED, _A.NEWS_AND_LEAVE),
        _E.SERVE_GONE: Transition(_S.ABSENT, _A.NEWS_AND_LEAVE),
        _E.WANT: Transition(_S.DESCRIBED),
        _E.WANT_TIMEOUT: Transition(_S.DESCRIBED),
        _E.CHANGE_SPACE: Transition(_S.ABSENT, _A.REST),
    },
}


def next_step(state: EntryState, event: EntryEvent) -> Transition:
    """The transition from this state at this event; an AssertionError when it cannot occur."""
    step = TRANSITIONS[state].get(event)
    assert step is not None, f"an entry that is {state.value} cannot meet the event {event.value!r}"
    return step


def state_of(alias: int, flags: int) -> EntryState:
    """The state of an entry with this alias (0: none) and these flags (-1: there is no entry); an AssertionError when
    no entry can be so."""
    if flags < 0:
        return EntryState.ABSENT
    flagged = flags & _DESCRIBED_OR_WANTED
    if not flagged:
        return EntryState.ANNOUNCED if alias else EntryState.UNANNOUNCED
    assert alias, f"an entry without an alias has {EntryFlag(flagged)!r}"
    assert flagged != _DESCRIBED_OR_WANTED, "an entry is DESCRIBED and WANTED"
    return EntryState.DESCRIBED if flagged == _DESCRIBED else EntryState.WANTED
