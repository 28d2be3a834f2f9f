"""The states of one attempt to log on: every transition, as data.

                          already logged on ─▶ ASKING_CLIENT ─▶ YIELDING;   taken over ─▶ LOGGED_ON
                                                                  │ ▲          │              │
    LogOn ─▶ FINDING ── the name is known ─▶ CHECKING ─ right ─▶ CLAIMING ◀────┴──────────────┘
                │                                                 ▲  │
                ├─ a new name ─▶ HASHING ─▶ CREATING ─────────────┘  └─▶ LOADING ─▶ PLACING ─▶ RECORDING
                ├─ a bot ──────▶ CREATING or CLAIMING                                              │
                └─ unknown, and no new players ─▶ CHECKING, against nothing                    LOGGED_ON

    every state but LOGGED_ON ─▶ REFUSED, with one sentence

`TRANSITIONS[state][event]` is the next state, the action that `logon.LogOns` then carries out, and for REFUSED the
reason that the player reads. A pair that is not in the table cannot occur. It is refused explicitly: `next_step` raises
an AssertionError, which stops the DBApp.

LOGGED_ON and REFUSED are final. An answer of the store or of a BaseApp that arrives after that never reaches the table:
`LogOns` drops it. The record of the entity is read while the claim is being written; where the claim finds the record
of another proxy, what was read is dropped, so LOADED is in the rows of CLAIMING, ASKING_CLIENT and YIELDING.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from terrazzo.wire.login_refusals import LoginRefusal


class LogOnState(Enum):
    """What the DBApp waits for."""

    FINDING = "finding"
    """The store looks for the account."""
    CHECKING = "checking"
    """The store compares the password."""
    HASHING = "hashing"
    """The store hashes the password of a new player."""
    CREATING = "creating"
    """The store creates the account."""
    CLAIMING = "claiming"
    """The store writes the log-on record."""
    LOADING = "loading"
    """The log-on record is written; the store reads the entity."""
    ASKING_CLIENT = "asking the client"
    """The player is logged on already: a BaseApp finds out whether the new client gets the present proxy."""
    YIELDING = "yielding"
    """The former proxy ends: its LoggedOff clears the record."""
    PLACING = "placing"
    """The BaseAppMgr has a BaseApp create the proxy."""
    RECORDING = "recording"
    """The store writes the BaseApp into the log-on record."""
    LOGGED_ON = "logged on"
    REFUSED = "refused"


class LogOnEvent(Enum):
    """What happens to an attempt."""

    ABANDONED = "abandoned"
    """The link with the LoginApp was lost before the account was found."""
    KNOWN = "known"
    """The name is known, or it is unknown and no new players are created."""
    NEW_NAME = "new name"
    KNOWN_BOT = "known bot"
    NEW_BOT = "new bot"
    BAD_NAME = "bad name"
    """No player can be created with this name."""
    RIGHT = "right"
    WRONG = "wrong"
    HASHED = "hashed"
    CREATED = "created"
    NAME_TAKEN = "name taken"
    """Another attempt has created the account meanwhile."""
    NO_TYPE = "no type"
    """The game no longer has the type of this player."""
    CONTESTED = "contested"
    """Another attempt claims this player."""
    CLAIMED = "claimed"
    HELD = "held"
    """Another proxy has the record, on a BaseApp that is linked."""
    HELD_OUT_OF_REACH = "held out of reach"
    """Another proxy has the record, on a BaseApp that is not linked or not recorded yet."""
    STILL_HELD = "still held"
    """The former proxy ends, and has the record still."""
    LOADED = "loaded"
    NO_RECORD = "no record"
    """The entity is not stored."""
    NOT_READY = "not ready"
    """There is no link with the BaseAppMgr, or none with the LoginApp any more."""
    PROXY_GOING = "proxy going"
    """The former proxy ends."""
    CLIENT_STAYS = "client stays"
    """The present client stays, or the answer of the BaseApp leaves it open."""
    TAKEN = "taken"
    """The player gets the proxy that exists; the present client is let go."""
    CLEARED = "cleared"
    """The record of the former proxy is cleared."""
    YIELD_TIMEOUT = "yield timeout"
    WORLD_FULL = "world full"
    """There is no room for a new player: no proxy was made."""
    PLACED = "placed"
    LEFT = "left"
    """The proxy has ended already."""
    PLACE_REFUSED = "place refused"
    """There is certainly no proxy."""
    NO_PLACE_ANSWER = "no place answer"
    """There may be a proxy: no answer came, or one that makes no sense."""
    PLACE_LINK_LOST = "place link lost"
    """There may be a proxy: the link with the BaseAppMgr was lost."""
    RECORDED = "recorded"
    STORE_FAILED = "store failed"


class LogOnAction(Enum):
    """What the DBApp does at a transition (`logon.ACTIONS` has the code)."""

    NOTHING = "nothing"
    CHECK = "check"
    """Have the password compared."""
    HASH = "hash"
    """Have the password hashed."""
    CREATE = "create"
    """Have the account created."""
    CLAIM = "claim"
    """Have the log-on record written and the entity read."""
    ASK_CLIENT = "ask client"
    """Send TakeOver to the BaseApp of the present proxy."""
    WAIT = "wait"
    """Wait until the former proxy is saved and gone."""
    PLACE = "place"
    """Send PlaceProxy to the BaseAppMgr."""
    RECORD = "record"
    """Have the BaseApp written into the record."""
    DOUBT = "doubt"
    """Keep the record until it is certain whether the proxy exists (`doubts.py`)."""
    ANSWER = "answer"
    """Send LoggedOn."""


class Transition(NamedTuple):
    """One transition."""

    state: LogOnState
    action: LogOnAction = LogOnAction.NOTHING
    refusal: LoginRefusal | None = None


def _refused(why: LoginRefusal, action: LogOnAction = LogOnAction.NOTHING) -> Transition:
    return Transition(LogOnState.REFUSED, action, why)


_S, _E, _A, _R = LogOnState, LogOnEvent, LogOnAction, LoginRefusal
_STORE_FAILED = {_E.STORE_FAILED: _refused(_R.NOT_STORED)}

TRANSITIONS: dict[LogOnState, dict[LogOnEvent, Transition]] = {
    _S.FINDING: {
        _E.ABANDONED: _refused(_R.LATE),
        _E.KNOWN: Transition(_S.CHECKING, _A.CHECK),
        _E.NEW_NAME: Transition(_S.HASHING, _A.HASH),
        _E.KNOWN_BOT: Transition(_S.CLAIMING, _A.CLAIM),
        _E.NEW_BOT: Transition(_S.CREATING, _A.CREATE),
        _E.BAD_NAME: _refused(_R.BAD_NAME),
        **_STORE_FAILED,
    },
    _S.CHECKING: {
        _E.RIGHT: Transition(_S.CLAIMING, _A.CLAIM),
        _E.WRONG: _refused(_R.WRONG),
        **_STORE_FAILED,
    },
    _S.HASHING: {
        _E.HASHED: Transition(_S.CREATING, _A.CREATE),
        _E.BAD_NAME: _refused(_R.BAD_NAME),
        **_STORE_FAILED,
    },
    _S.CREATING: {
        _E.CREATED: Transition(_S.CLAIMING, _A.CLAIM),
        _E.NAME_TAKEN: _refused(_R.LOGGING_ON),
        **_STORE_FAILED,
    },
    _S.CLAIMING: {
        _E.NO_TYPE: _refused(_R.TYPE),
        _E.CONTESTED: _refused(_R.LOGGING_ON),
        _E.CLAIMED: Transition(_S.LOADING),
        _E.HELD: Transition(_S.ASKING_CLIENT, _A.ASK_CLIENT),
        _E.HELD_OUT_OF_REACH: _refused(_R.ALREADY_LOGGED_ON),
        _E.STILL_HELD: Transition(_S.YIELDING, _A.WAIT),
        _E.LOADED: Transition(_S.CLAIMING),
        **_STORE_FAILED,
    },
    _S.LOADING: {
        _E.LOADED: Transition(_S.PLACING, _A.PLACE),
        _E.NO_RECORD: _refused(_R.NOT_STORED),
        _E.NOT_READY: _refused(_R.NOT_READY),
        _E.WORLD_FULL: _refused(_R.FULL),
        **_STORE_FAILED,
    },
    _S.ASKING_CLIENT: {
        _E.PROXY_GOING: Transition(_S.CLAIMING, _A.CLAIM),
        _E.TAKEN: Transition(_S.LOGGED_ON, _A.ANSWER),
        _E.CLIENT_STAYS: _refused(_R.ALREADY_LOGGED_ON),
        _E.LOADED: Transition(_S.ASKING_CLIENT),
        **_STORE_FAILED,
    },
    _S.YIELDING: {
        _E.CLEARED: Transition(_S.CLAIMING, _A.CLAIM),
        _E.YIELD_TIMEOUT: _refused(_R.ALREADY_LOGGED_ON),
        _E.LOADED: Transition(_S.YIELDING),
        **_STORE_FAILED,
    },
    _S.PLACING: {
        _E.PLACED: Transition(_S.RECORDING, _A.RECORD),
        _E.LEFT: _refused(_R.LEFT),
        _E.PLACE_REFUSED: _refused(_R.NOT_PLACED),
        _E.WORLD_FULL: _refused(_R.FULL),
        _E.NO_PLACE_ANSWER: _refused(_R.LATE, _A.DOUBT),
        _E.PLACE_LINK_LOST: _refused(_R.NOT_READY, _A.DOUBT),
    },
    _S.RECORDING: {
        _E.RECORDED: Transition(_S.LOGGED_ON, _A.ANSWER),
        _E.LEFT: _refused(_R.LEFT),
        **_STORE_FAILED,
    },
    _S.LOGGED_ON: {},
    _S.REFUSED: {},
}


def next_step(state: LogOnState, event: LogOnEvent) -> Transition:
    """The transition from this state at this event; an AssertionError when it cannot occur."""
    step = TRANSITIONS[state].get(event)
    assert step is not None, f"a log-on that is {state.value} cannot meet the event {event.value!r}"
    return step
