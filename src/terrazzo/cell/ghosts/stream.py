"""The stream of a ghost: what each message about an entity does to the body here, as a table of every transition.

Each link is ordered, and the real of an entity moves between CellApps. So messages of A about it and messages of B may
arrive in any interleaving. But every message about an entity has its place in one stream, the same for all CellApps:

    `number` runs over all steps of the entity, whichever CellApp has the real. A ghost begins after a step
    (CreateGhost, number), ends after a step (DeleteGhost, number), and becomes the real after a step (Offload, number).
    `epoch` grows with each home of the real: it orders messages of the same number; the highest is of the newest home.

    a ghost here, as it was sent:     Create(e0, 4) 5 6 │ 7 8 Delete(e1, 8)        Create(e2, 12) 13 14 …
                                      from A            │ from B                   from D

So there is one rule: **the stream is taken in order, and what arrives early is held** (`cell/ghosts/held.py`). Compared
with the number of the body here, a message is

    KNOWN     it is not after that number, or is older than the tombstone: it changes nothing
    next      it follows on that number: it is taken (events without a suffix)
    AHEAD     something before it has not arrived: it is held

               CREATE_AHEAD: make                   STEP: apply
    ABSENT ────────────────────────────▶ GHOST ⟲ CREATE_AHEAD, STEP_AHEAD, DELETE_AHEAD, ARRIVAL_AHEAD: hold
      │ ▲                                │ ▲ │
      │ └─ the tombstone expires         │ │ └── ARRIVAL: the real begins ──▶ REAL: everything else is KNOWN
      ▼                                  │ └── the real leaves ──────────────  │
    ENDED ◀──────── DELETE: end ─────────┘                                     │
      ▲ └── CREATE_AHEAD: make ──▶ GHOST                                       │
      └─────────────────────────────────────── the entity is destroyed ────────┘

`TRANSITIONS[state][event]` is the next state and the action that `receiver.GhostReceiver` then carries out. A pair that
is not in the table cannot occur. It is refused explicitly: `next_step` raises an AssertionError, which stops the
CellApp. The arrows without an event are no messages of the stream: the tombstone expires, the real leaves
(`cell/migration/offload.py`), the entity is destroyed, a base makes a new life of it, its space is removed here.

Why a deletion with n < m is KNOWN: a step after n was sent here, so the ghost was needed again after that deletion; its
creation is on its way or was taken as known. The two lives of the ghost are one. The same holds for a deletion of an
epoch before the creation that the ghost begins with (`born`).

Why a creation with n > m is held: the ghost is one of a former home of the real, and the steps and the deletion of that
home are on their way. They are applied first, so that a client that sees the ghost misses none of its last events
(races 2, 3).

**A gap that does not close** is mended (`cell/ghosts/mending.py`). Whatever is lost is found: the next step leaves a
gap, and a real sends SetReal, with its number, when it arrives and after each break of a link.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from terrazzo.cell.core.body import Body
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, NextReal, Offload, SetReal, UpdateGhost


class GhostState(Enum):
    """What is here of an entity."""

    ABSENT = "absent"
    """Neither a body nor a tombstone."""
    ENDED = "ended"
    """A tombstone: a body has ended here lately, or was to end before it came."""
    GHOST = "ghost"
    REAL = "real"


class GhostEvent(Enum):
    """A message about the entity, by its place in the stream."""

    CREATE_KNOWN = "create, known"
    CREATE_AHEAD = "create, ahead"
    SNAPSHOT_AHEAD = "snapshot, ahead"
    """A creation that was asked for, since the steps before it do not arrive."""
    STEP_KNOWN = "step, known"
    STEP = "step"
    STEP_AHEAD = "step, ahead"
    DELETE_KNOWN = "delete, known"
    DELETE = "delete"
    DELETE_AHEAD = "delete, ahead"
    DELETE_WITH_PAST = "delete, with its past"
    """A deletion that was asked for, since the steps before it do not arrive: it has them."""
    ARRIVAL = "arrival"
    """The real itself, with a past that reaches down to the number of the body."""
    ARRIVAL_AHEAD = "arrival, ahead"
    NEXT_REAL_KNOWN = "next real, known"
    NEXT_REAL = "next real"
    """The real went on to another CellApp."""
    SET_REAL_KNOWN = "set real, known"
    SET_REAL_AHEAD = "set real, ahead"
    """A real has this ghost, and a number beyond it."""
    UNLISTED = "unlisted"
    """After a broken link: the app that has the real does not list this ghost."""


class GhostAction(Enum):
    """What the CellApp does at a transition (`receiver.ACTIONS` has the code)."""

    NOTHING = "nothing"
    COUNT_LATE_CREATION = "count late creation"
    COUNT_LATE_DELETION = "count late deletion"
    MAKE = "make"
    """Make the ghost. One that does not decode is counted, and there is none."""
    KEEP = "keep"
    """The ghost here is the one that was made: its epoch grows, and with it what counts as a late deletion."""
    REPLACE = "replace"
    """Take over the state of the snapshot at once."""
    HOLD = "hold"
    """Hold a creation or a deletion until the steps before it have arrived."""
    NOTE = "note"
    """Follow the sender if its epoch is the newest."""
    APPLY = "apply"
    """Follow the sender, apply the step, and take what was held for it."""
    HOLD_STEP = "hold step"
    """Follow the sender, and hold the step."""
    HOLD_FIRST_STEP = "hold first step"
    """Hold the step of a ghost that is not here yet."""
    ADD_TOMBSTONE = "add tombstone"
    END = "end"
    """End the ghost: a tombstone keeps its last events."""
    END_WITH_PAST = "end with past"
    """Take over the events that the ghost lacks, then end it."""
    BEGIN_REAL = "begin real"
    HOLD_ARRIVAL = "hold arrival"
    """Let the real wait for the steps that a client here would miss."""
    FOLLOW = "follow"
    """Note where the real is, if that is news."""
    FOLLOW_UNCONFIRMED = "follow unconfirmed"
    """Note where the real is. It is asked whether it has this ghost, unless it sends that by itself."""
    CONFIRM = "confirm"
    """Follow the sender, and answer that the ghost is here."""
    EXPECT = "expect"
    """Follow the sender, and wait for the steps up to its number."""
    AWAIT = "await"
    """Follow the sender, and wait for the creation."""
    DOUBT = "doubt"
    """Ask the real at once whether it has this ghost."""


class Transition(NamedTuple):
    """One transition."""

    state: GhostState
    action: GhostAction = GhostAction.NOTHING


_S, _E, _A = GhostState, GhostEvent, GhostAction


def _without_body(state: GhostState) -> dict[GhostEvent, Transition]:
    return {
        _E.CREATE_AHEAD: Transition(_S.GHOST, _A.MAKE),
        _E.SNAPSHOT_AHEAD: Transition(_S.GHOST, _A.MAKE),
        _E.STEP_AHEAD: Transition(state, _A.HOLD_FIRST_STEP),
        _E.DELETE: Transition(_S.ENDED, _A.ADD_TOMBSTONE),
        _E.ARRIVAL: Transition(_S.REAL, _A.BEGIN_REAL),
        _E.NEXT_REAL: Transition(state, _A.FOLLOW),
        _E.SET_REAL_AHEAD: Transition(state, _A.AWAIT),
    }


TRANSITIONS: dict[GhostState, dict[GhostEvent, Transition]] = {
    _S.ABSENT: _without_body(_S.ABSENT),
    _S.ENDED: {
        **_without_body(_S.ENDED),
        _E.CREATE_KNOWN: Transition(_S.ENDED),
        _E.STEP_KNOWN: Transition(_S.ENDED),
        _E.SET_REAL_KNOWN: Transition(_S.ENDED),
    },
    _S.GHOST: {
        _E.CREATE_KNOWN: Transition(_S.GHOST, _A.KEEP),
        _E.CREATE_AHEAD: Transition(_S.GHOST, _A.HOLD),
        _E.SNAPSHOT_AHEAD: Transition(_S.GHOST, _A.REPLACE),
        _E.STEP_KNOWN: Transition(_S.GHOST, _A.NOTE),
        _E.STEP: Transition(_S.GHOST, _A.APPLY),
        _E.STEP_AHEAD: Transition(_S.GHOST, _A.HOLD_STEP),
        _E.DELETE_KNOWN: Transition(_S.GHOST, _A.COUNT_LATE_DELETION),
        _E.DELETE: Transition(_S.ENDED, _A.END),
        _E.DELETE_AHEAD: Transition(_S.GHOST, _A.HOLD),
        _E.DELETE_WITH_PAST: Transition(_S.ENDED, _A.END_WITH_PAST),
        _E.ARRIVAL: Transition(_S.REAL, _A.BEGIN_REAL),
        _E.ARRIVAL_AHEAD: Transition(_S.GHOST, _A.HOLD_ARRIVAL),
        _E.NEXT_REAL_KNOWN: Transition(_S.GHOST, _A.FOLLOW),
        _E.NEXT_REAL: Transition(_S.GHOST, _A.FOLLOW_UNCONFIRMED),
        _E.SET_REAL_KNOWN: Transition(_S.GHOST, _A.CONFIRM),
        _E.SET_REAL_AHEAD: Transition(_S.GHOST, _A.EXPECT),
        _E.UNLISTED: Transition(_S.GHOST, _A.DOUBT),
    },
    _S.REAL: {
        _E.CREATE_KNOWN: Transition(_S.REAL, _A.COUNT_LATE_CREATION),
        _E.STEP_KNOWN: Transition(_S.REAL),
        _E.DELETE_KNOWN: Transition(_S.REAL, _A.COUNT_LATE_DELETION),
        _E.NEXT_REAL_KNOWN: Transition(_S.REAL),
        _E.SET_REAL_KNOWN: Transition(_S.REAL),
    },
}


def next_step(state: GhostState, event: GhostEvent) -> Transition:
    """The transition from this state at this event; an AssertionError when it cannot occur."""
    step = TRANSITIONS[state].get(event)
    assert step is not None, f"an entity that is {state.value} here cannot meet the event {event.value!r}"
    return step


def state_of(entity: int, body: Body | None, tombstones: Tombstones) -> GhostState:
    """What is here of an entity."""
    if body is not None:
        return GhostState.GHOST if body.real is None else GhostState.REAL
    return GhostState.ABSENT if tombstones.get(entity) is None else GhostState.ENDED


# The place of each message in the stream.


def creation_event(body: Body | None, message: CreateGhost, tombstones: Tombstones) -> GhostEvent:
    """Where there is no body, the tombstone decides by the epoch."""
    if body is None:
        is_known = tombstones.is_too_late(message.entity, message.epoch)
    else:
        is_known = body.real is not None or message.number <= body.number
    if is_known:
        return GhostEvent.CREATE_KNOWN
    return GhostEvent.SNAPSHOT_AHEAD if message.is_snapshot else GhostEvent.CREATE_AHEAD


def step_event(body: Body | None, message: UpdateGhost, tombstones: Tombstones) -> GhostEvent:
    """Where there is no body, the tombstone decides by the number."""
    if body is None:
        is_known = message.number <= tombstones.end_of(message.entity)
        return GhostEvent.STEP_KNOWN if is_known else GhostEvent.STEP_AHEAD
    if body.real is not None or message.number <= body.number:
        return GhostEvent.STEP_KNOWN
    return GhostEvent.STEP if message.number == body.number + 1 else GhostEvent.STEP_AHEAD


def deletion_event(body: Body | None, message: DeleteGhost) -> GhostEvent:
    """Where there is no body, the tombstone takes the deletion."""
    if body is None:
        return GhostEvent.DELETE
    if body.real is not None or message.epoch < body.born or message.number < body.number:
        return GhostEvent.DELETE_KNOWN
    if message.number == body.number:
        return GhostEvent.DELETE
    return GhostEvent.DELETE_AHEAD if message.past is None else GhostEvent.DELETE_WITH_PAST


def arrival_event(body: Body | None, message: Offload) -> GhostEvent:
    """A ghost in another space has nothing that a client would miss."""
    if body is None or body.space.id != message.space or message.past.floor <= body.number:
        return GhostEvent.ARRIVAL
    return GhostEvent.ARRIVAL_AHEAD


def next_real_event(body: Body | None, message: NextReal) -> GhostEvent:
    """The highest epoch is followed."""
    is_news = body is None or (body.real is None and message.epoch > body.epoch)
    return GhostEvent.NEXT_REAL if is_news else GhostEvent.NEXT_REAL_KNOWN


def set_real_event(body: Body | None, message: SetReal, tombstones: Tombstones) -> GhostEvent:
    """Where there is no body, the tombstone decides by the epoch."""
    if body is None:
        is_known = tombstones.is_too_late(message.entity, message.epoch)
    else:
        is_known = body.real is not None or message.number <= body.number
    return GhostEvent.SET_REAL_KNOWN if is_known else GhostEvent.SET_REAL_AHEAD
