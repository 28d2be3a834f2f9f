"""The states of a cell part as its base sees them: every transition, as data.

    NONE ──create──▶ FINDING ──Entry──▶ CREATING ──RealCreated──▶ THERE ──DestroyReal──▶ LEAVING ──last CellData──▶ NONE
     ▲                  │ refused, too late  │ │ refused ──▶ FINDING │ last CellData, unasked ──▶ NONE
     └──────────────────┘                    │ └ no answer: again    │ its CellApp declared dead ──▶ LOST
                                             ▼ taken down meanwhile
                                         CANCELLED ──RealCreated──▶ LEAVING     CANCELLED ──refused──▶ NONE

`TRANSITIONS[state][event]` is the next state and the action that `cell_part.CellPart` then carries out. A pair that is
not in the table cannot occur. It is refused explicitly: `next_step` raises an AssertionError, which stops the BaseApp.

Answers to a request of an earlier attempt never reach the table: `CellPart` numbers its attempts and drops such
answers. Within one attempt, a cell part can prove by its own mail that it exists before the CellApp's answer arrives.
That is why the answers to CreateReal are in the rows of THERE and LEAVING, too; they change nothing there.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class CellPartState(Enum):
    """What the base has established about its cell part."""

    NONE = "none"
    """There is none."""
    FINDING = "finding"
    """A CellApp that covers the location is being looked up."""
    CREATING = "creating"
    """A CellApp was asked to create it."""
    CANCELLED = "cancelled"
    """A CellApp was asked to create it; the game or the end of the base has taken it down since."""
    THERE = "there"
    """It exists."""
    LEAVING = "leaving"
    """DestroyReal was sent to it."""
    LOST = "lost"
    """Its CellApp was declared dead."""


class CellPartEvent(Enum):
    """What happens to a cell part."""

    CREATE = "create"
    """The game asks for one."""
    TAKE_DOWN = "take down"
    """The game, or the end of the base, takes it down."""
    GIVE_UP = "give up"
    """The server stops, and does not wait for the cell part any longer."""
    ENTRY = "entry"
    """The CellAppMgr has named the CellApp that covers the location."""
    NO_ENTRY = "no entry"
    """The CellAppMgr refused, or the time for the look-up is over."""
    NO_ENTRY_ANSWER = "no entry answer"
    """The CellAppMgr did not answer."""
    CREATED = "created"
    """The CellApp has created it."""
    REFUSED = "refused"
    """The CellApp refused to create it: it was certainly not created."""
    NO_ANSWER = "no answer"
    """The CellApp did not answer: it may have been created."""
    NOT_CREATABLE = "not creatable"
    """Its properties cannot be sent, or the answer to CreateReal makes no sense."""
    MAIL = "mail"
    """Mail of the cell part has arrived; while it is being created, mail of this very life."""
    DATA = "data"
    """CellData has arrived, not the last."""
    LAST_DATA = "last data"
    """The last CellData has arrived: the cell part has ended."""
    CHANNEL_CLOSED = "channel closed"
    """DestroyReal was not delivered, and the channel is closed: no last CellData will come."""
    CREATOR_DEAD = "creator dead"
    """The CellApp that was asked to create it was declared dead, and no mail of this life has arrived."""
    HOME_DEAD = "home dead"
    """The CellApp where it was last known to live was declared dead."""


class CellPartAction(Enum):
    """What the base does at a transition (`cell_part.ACTIONS` has the code)."""

    NOTHING = "nothing"
    REFUSE = "refuse"
    """Raise a UsageError: there is a cell part already."""
    FIND = "find"
    """Ask the CellAppMgr which CellApp covers the location."""
    FIND_LATER = "find later"
    ASK = "ask"
    """Send CreateReal."""
    ASK_LATER = "ask later"
    ANNOUNCE = "announce"
    """Pin the channel, and report to the entity that its cell part is there."""
    ANNOUNCE_AGAIN = "announce again"
    """The cell part that counted as lost has moved in time: report to the entity that it is there."""
    DESTROY = "destroy"
    """Send DestroyReal."""
    DESTROY_CREATED = "destroy created"
    """Pin the channel, and send DestroyReal."""
    STORE = "store"
    """Take over the values that the cell part has sent."""
    STORE_AND_END = "store and end"
    REPORT_DATA = "report data"
    """Log CellData that arrives while there is no cell part."""
    END = "end"
    """Report to the entity that its cell part is gone or will not come."""
    END_LOST = "end lost"
    """Pin the channel, so that a cell part that has moved in time is recognised, and report to the entity."""
    FORGET = "forget"
    """Report what still waits for the lost cell part as not delivered."""


class Transition(NamedTuple):
    """One transition."""

    state: CellPartState
    action: CellPartAction = CellPartAction.NOTHING


_S, _E, _A = CellPartState, CellPartEvent, CellPartAction

TRANSITIONS: dict[CellPartState, dict[CellPartEvent, Transition]] = {
    _S.NONE: {
        _E.CREATE: Transition(_S.FINDING, _A.FIND),
        _E.TAKE_DOWN: Transition(_S.NONE),
        _E.GIVE_UP: Transition(_S.NONE),
        _E.MAIL: Transition(_S.NONE),
        _E.DATA: Transition(_S.NONE, _A.REPORT_DATA),
        _E.LAST_DATA: Transition(_S.NONE, _A.REPORT_DATA),
        _E.HOME_DEAD: Transition(_S.NONE, _A.FORGET),
    },
    _S.FINDING: {
        _E.CREATE: Transition(_S.FINDING, _A.REFUSE),
        _E.TAKE_DOWN: Transition(_S.NONE, _A.END),
        _E.GIVE_UP: Transition(_S.NONE, _A.END),
        _E.ENTRY: Transition(_S.CREATING, _A.ASK),
        _E.NO_ENTRY: Transition(_S.NONE, _A.END),
        _E.NO_ENTRY_ANSWER: Transition(_S.FINDING, _A.FIND_LATER),
        _E.MAIL: Transition(_S.FINDING),
        _E.DATA: Transition(_S.FINDING, _A.REPORT_DATA),
        _E.LAST_DATA: Transition(_S.FINDING, _A.REPORT_DATA),
        _E.HOME_DEAD: Transition(_S.FINDING, _A.FORGET),
    },
    _S.CREATING: {
        _E.CREATE: Transition(_S.CREATING, _A.REFUSE),
        _E.TAKE_DOWN: Transition(_S.CANCELLED),
        _E.GIVE_UP: Transition(_S.NONE, _A.END),
        _E.CREATED: Transition(_S.THERE, _A.ANNOUNCE),
        _E.REFUSED: Transition(_S.FINDING, _A.FIND_LATER),
        _E.NO_ANSWER: Transition(_S.CREATING, _A.ASK_LATER),
        _E.NOT_CREATABLE: Transition(_S.NONE, _A.END),
        _E.MAIL: Transition(_S.THERE, _A.ANNOUNCE),
        _E.DATA: Transition(_S.CREATING, _A.REPORT_DATA),
        _E.LAST_DATA: Transition(_S.CREATING, _A.REPORT_DATA),
        _E.CREATOR_DEAD: Transition(_S.LOST, _A.END_LOST),
        _E.HOME_DEAD: Transition(_S.CREATING),
    },
    _S.CANCELLED: {
        _E.CREATE: Transition(_S.CANCELLED, _A.REFUSE),
        _E.TAKE_DOWN: Transition(_S.CANCELLED),
        _E.GIVE_UP: Transition(_S.NONE, _A.END),
        _E.CREATED: Transition(_S.LEAVING, _A.DESTROY_CREATED),
        _E.REFUSED: Transition(_S.NONE, _A.END),
        _E.NO_ANSWER: Transition(_S.CANCELLED, _A.ASK_LATER),
        _E.NOT_CREATABLE: Transition(_S.NONE, _A.END),
        _E.MAIL: Transition(_S.LEAVING, _A.DESTROY_CREATED),
        _E.DATA: Transition(_S.CANCELLED, _A.REPORT_DATA),
        _E.LAST_DATA: Transition(_S.CANCELLED, _A.REPORT_DATA),
        _E.CREATOR_DEAD: Transition(_S.NONE, _A.END),
        _E.HOME_DEAD: Transition(_S.CANCELLED),
    },
    _S.THERE: {
        _E.CREATE: Transition(_S.THERE, _A.REFUSE),
        _E.TAKE_DOWN: Transition(_S.LEAVING, _A.DESTROY),
        _E.GIVE_UP: Transition(_S.NONE, _A.END),
        _E.CREATED: Transition(_S.THERE),
        _E.REFUSED: Transition(_S.THERE),
        _E.NO_ANSWER: Transition(_S.THERE),
        _E.NOT_CREATABLE: Transition(_S.THERE),
        _E.MAIL: Transition(_S.THERE),
        _E.DATA: Transition(_S.THERE, _A.STORE),
        _E.LAST_DATA: Transition(_S.NONE, _A.STORE_AND_END),
        _E.HOME_DEAD: Transition(_S.LOST, _A.END),
    },
    _S.LEAVING: {
        _E.CREATE: Transition(_S.LEAVING, _A.REFUSE),
        _E.TAKE_DOWN: Transition(_S.LEAVING),
        _E.GIVE_UP: Transition(_S.NONE, _A.END),
        _E.CREATED: Transition(_S.LEAVING),
        _E.REFUSED: Transition(_S.LEAVING),
        _E.NO_ANSWER: Transition(_S.LEAVING),
        _E.NOT_CREATABLE: Transition(_S.LEAVING),
        _E.MAIL: Transition(_S.LEAVING),
        _E.DATA: Transition(_S.LEAVING, _A.STORE),
        _E.LAST_DATA: Transition(_S.NONE, _A.STORE_AND_END),
        _E.CHANNEL_CLOSED: Transition(_S.NONE, _A.END),
        _E.HOME_DEAD: Transition(_S.NONE, _A.END),
    },
    _S.LOST: {
        _E.CREATE: Transition(_S.FINDING, _A.FIND),
        _E.TAKE_DOWN: Transition(_S.NONE, _A.FORGET),
        _E.GIVE_UP: Transition(_S.LOST),
        _E.MAIL: Transition(_S.THERE, _A.ANNOUNCE_AGAIN),
        _E.DATA: Transition(_S.LOST, _A.REPORT_DATA),
        _E.LAST_DATA: Transition(_S.LOST, _A.REPORT_DATA),
        _E.HOME_DEAD: Transition(_S.LOST),
    },
}

BEING_CREATED = (CellPartState.CREATING, CellPartState.CANCELLED)
EXISTING = (CellPartState.THERE, CellPartState.LEAVING)


def next_step(state: CellPartState, event: CellPartEvent) -> Transition:
    """The transition from this state at this event; an AssertionError when it cannot occur."""
    step = TRANSITIONS[state].get(event)
    assert step is not None, f"a cell part that is {state.value} cannot meet the event {event.value!r}"
    return step
