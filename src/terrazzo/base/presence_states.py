"""The states of a proxy's client: every transition, as data.

                login key ──▶ WAITING ── no client in time ──▶ ABSENT, and the entity ends unsaved
                                 │ key shown
                                 ▼
    ABSENT ── key shown ──▶ ATTACHED ── ready ──▶ READY        from both, and from AWAY and KEPT:
                             ▲   ▲                │ │          key shown ──▶ ATTACHED: the client before is let go
                       token │   │ key            │ │
                             │   └── KEPT ◀───────┘ │ left, sent away
                             │        ▲ too late    │ lost
                             └────── AWAY ◀─────────┘          from ATTACHED, READY and AWAY: token ──▶ ATTACHED
    sent BYE, or the entity ends with a client ──▶ LEAVING ── saved ──▶ ABSENT     LEAVING ── the game keeps it ──▶ KEPT

`TRANSITIONS[state][event]` is the next state and the action that `presence.ClientPresence` then carries out. A pair
that is not in the table cannot occur. It is refused explicitly: `next_step` raises an AssertionError, which stops the
BaseApp.

A client belongs to one attachment: it begins when a session presents a key or a session token (`tokens.py`), and ends
with that session. Each attachment that becomes ready has a witness number of its own, and the session of the former one
is removed before the next one is greeted. So no message for a client reaches the client after it, and none for a
session of a client reaches the next session of the same client: that begins with a fresh view.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Presence(Enum):
    """What a proxy has of a client."""

    ABSENT = "absent"
    """No client, and none is awaited."""
    WAITING = "waiting"
    """The first client is awaited: it has a login key."""
    ATTACHED = "attached"
    """A client is connected; it was sent its entity."""
    READY = "ready"
    """The client has its entity: it may call and move."""
    AWAY = "away"
    """The connection of the client is lost. The client may resume with its token until its time is over."""
    KEPT = "kept"
    """The client is gone. The game keeps the entity; the next client gets a fresh view."""
    LEAVING = "leaving"
    """The client leaves, or its entity ends; it gets LOGGED_OFF when everything is saved."""


class PresenceEvent(Enum):
    """What happens to the client of a proxy."""

    EXPECT = "expect"
    """A login key was made for the next client of this proxy."""
    NO_CLIENT = "no client"
    """The login key has expired."""
    ATTACH = "attach"
    """A client has presented the login key."""
    RESUME = "resume"
    """A client has presented a valid session token of this proxy."""
    READY = "ready"
    """The client has created its entity."""
    BYE = "bye"
    """The client leaves by itself."""
    LOST = "lost"
    """The session has ended: the client closed it, or it timed out."""
    CUT = "cut"
    """The BaseApp has ended the session for good: the client broke the protocol, read too slowly, or is banned."""
    TOO_LATE = "too late"
    """The client has not resumed in time, or may not resume."""
    SEND_AWAY = "send away"
    """The game, or a limit, ends the session."""
    KEEP = "keep"
    """The client has left by itself, and the game keeps the entity."""
    DESTROY = "destroy"
    """The entity ends."""
    GONE = "gone"
    """The entity has ended and is saved."""


class PresenceAction(Enum):
    """What the proxy does at a transition (`presence.ACTIONS` has the code)."""

    NOTHING = "nothing"
    AWAIT = "await"
    """Set the alarm for a first client that does not come."""
    GREET = "greet"
    """Send the client its entity."""
    REPLACE = "replace"
    """Let the present client go, with the reason, and send the next one its entity."""
    RENEW = "renew"
    """Let the former session of the same client go, and send the client its entity."""
    BEGIN = "begin"
    """Run the game's hook, and have the cell part begin a witness."""
    PART = "part"
    """The witness ends, and the game's hook runs; when it keeps the entity, the client gets LOGGED_OFF at once."""
    LOSE = "lose"
    """The witness ends, and the game's hook runs; the client has its time to resume, if it has any."""
    CUT_OFF = "cut off"
    """The witness ends, and the game's hook runs; the client may not resume."""
    FORGET = "forget"
    """The session tokens of the client are void."""
    DISMISS = "dismiss"
    """Send LOGGED_OFF at once, end the session; the witness ends, and the game's hook runs."""
    DISCARD = "discard"
    """The entity was not played: it ends unsaved, so that its old values never replace newer ones."""
    STOP_READING = "stop reading"
    """Messages of the client are not read any more."""
    FAREWELL = "farewell"
    """Send LOGGED_OFF and end the session."""


class Transition(NamedTuple):
    """One transition."""

    state: Presence
    action: PresenceAction = PresenceAction.NOTHING


_S, _E, _A = Presence, PresenceEvent, PresenceAction

TRANSITIONS: dict[Presence, dict[PresenceEvent, Transition]] = {
    _S.ABSENT: {
        _E.EXPECT: Transition(_S.WAITING, _A.AWAIT),
        _E.DESTROY: Transition(_S.ABSENT),
        _E.GONE: Transition(_S.ABSENT),
    },
    _S.WAITING: {
        _E.EXPECT: Transition(_S.WAITING, _A.AWAIT),
        _E.NO_CLIENT: Transition(_S.ABSENT, _A.DISCARD),
        _E.ATTACH: Transition(_S.ATTACHED, _A.GREET),
        _E.DESTROY: Transition(_S.ABSENT, _A.DISCARD),
    },
    _S.ATTACHED: {
        _E.EXPECT: Transition(_S.ATTACHED),
        _E.ATTACH: Transition(_S.ATTACHED, _A.REPLACE),
        _E.RESUME: Transition(_S.ATTACHED, _A.RENEW),
        _E.READY: Transition(_S.READY, _A.BEGIN),
        _E.BYE: Transition(_S.LEAVING, _A.PART),
        _E.LOST: Transition(_S.AWAY, _A.LOSE),
        _E.CUT: Transition(_S.KEPT, _A.CUT_OFF),
        _E.SEND_AWAY: Transition(_S.KEPT, _A.DISMISS),
        _E.DESTROY: Transition(_S.LEAVING, _A.STOP_READING),
    },
    _S.READY: {
        _E.EXPECT: Transition(_S.READY),
        _E.ATTACH: Transition(_S.ATTACHED, _A.REPLACE),
        _E.RESUME: Transition(_S.ATTACHED, _A.RENEW),
        _E.BYE: Transition(_S.LEAVING, _A.PART),
        _E.LOST: Transition(_S.AWAY, _A.LOSE),
        _E.CUT: Transition(_S.KEPT, _A.CUT_OFF),
        _E.SEND_AWAY: Transition(_S.KEPT, _A.DISMISS),
        _E.DESTROY: Transition(_S.LEAVING, _A.STOP_READING),
    },
    _S.AWAY: {
        _E.EXPECT: Transition(_S.AWAY),
        _E.ATTACH: Transition(_S.ATTACHED, _A.GREET),
        _E.RESUME: Transition(_S.ATTACHED, _A.GREET),
        _E.TOO_LATE: Transition(_S.KEPT, _A.FORGET),
        _E.DESTROY: Transition(_S.ABSENT),
    },
    _S.KEPT: {
        _E.EXPECT: Transition(_S.KEPT),
        _E.ATTACH: Transition(_S.ATTACHED, _A.GREET),
        _E.DESTROY: Transition(_S.ABSENT),
    },
    _S.LEAVING: {
        _E.LOST: Transition(_S.ABSENT),
        _E.CUT: Transition(_S.ABSENT),
        _E.KEEP: Transition(_S.KEPT, _A.FAREWELL),
        _E.DESTROY: Transition(_S.LEAVING),
        _E.GONE: Transition(_S.ABSENT, _A.FAREWELL),
    },
}

CONNECTED = (Presence.ATTACHED, Presence.READY)


def next_step(state: Presence, event: PresenceEvent) -> Transition:
    """The transition from this state at this event; an AssertionError when it cannot occur."""
    step = TRANSITIONS[state].get(event)
    assert step is not None, f"a client that is {state.value} cannot meet the event {event.value!r}"
    return step
