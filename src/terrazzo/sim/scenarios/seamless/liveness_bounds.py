"""The kinds of checks at rest, and how long each may take, derived from the timers of the protocol (`sim/liveness.py`).

    LINK      5 s of silence, a redial and a greeting                 a broken link is up again, and carries messages
    WAYS      the longest paths there and back, and the ticks between
    CLIENT    what must still be sent to a client that owes no bytes, and lost datagrams
    BACKLOG   how long the smallest budget takes for all that is near, in an app that throttles its clients
    QUEUE     with narrowed limits (`sim/limits.py`): one offload, one ghost made or deleted in a tick

The table in docs/simulator.md has the same rows: a test compares them.
"""

from __future__ import annotations

from enum import Enum

from terrazzo.base.cell_part import ENTRY_S
from terrazzo.base.limits import KEY_S
from terrazzo.base.saving import GATHER_S
from terrazzo.cell.core.destinations import STAY_S
from terrazzo.cell.ghosts.mending import ARRIVAL_S, ASKED_MAX, GAP_S
from terrazzo.cell.ghosts.placement import CONFIRM_S, LINGER_S, LOOK_S
from terrazzo.cell.ghosts.seeking import SEEK_S
from terrazzo.cell.migration.teleport import TELEPORT_S
from terrazzo.cluster.connection import LinkLimits
from terrazzo.cluster.locator import ANSWER_S
from terrazzo.db import doubts
from terrazzo.db.attempts import LogOnLimits
from terrazzo.sim.liveness import Bound
from terrazzo.wire.entity.limits import ChannelLimits


class Kind(Enum):
    """The kinds of checks at rest."""

    KEPT = "a real that was sent is confirmed"
    ARRIVAL = "a real that has come begins"
    HELD = "nothing is held for a ghost"
    REALS = "each entity has one real, in its cell"
    GHOSTS = "each ghost is where it is needed, and is as its real"
    HOOKS = "each cell has what follows from its hooks"
    AREAS = "areas and triggers have the right contents"
    ONCE = "timers, controllers and teleports have ended"
    BASES = "each base has the true state of its cell part"
    CALLS = "each call is delivered or reported"
    CLIENTS = "each witness has its client, and each client its witness"
    PLAYERS = "each player is in"
    BACKLOGS = "each client that owes bytes sees what is there"
    VIEWS = "each other client sees what is there"
    GAME = "the game's own records are closed"


_LINKS, _CHANNEL, _LOG_ON = LinkLimits(), ChannelLimits(), LogOnLimits()
LINK_S = _LINKS.silence_s + _LINKS.redial_s + _LINKS.greeting_s
WAYS_S = 3.0
QUEUE_S = 10.0
"""About fifty ghosts, one in every second tick."""
RESENDS_S = _CHANNEL.resend_s * 7
"""1, 2 and 4 s: then the peer is located."""
TRAVEL_S = 15.0
"""The longest movement that the game gives a controller."""

CLIENT_S = 12.0
"""The last descriptions; three losses of a datagram."""
BACKLOG_S = 45.0
"""Chosen. 1.5 kbit/s, of which a throttled app grants a part; a long history of one entity takes 1.2 kB of it."""

_GAPS_S = GAP_S * (ASKED_MAX + 1)
_GHOSTS_S = CONFIRM_S + LINGER_S + LOOK_S + GAP_S + QUEUE_S
_CALLS_S = LINK_S + RESENDS_S + ANSWER_S + _CHANNEL.locate_s + _CHANNEL.resend_max_s
_PLAYERS_S = doubts.AGAIN_S + doubts.ANSWER_S + _LOG_ON.place_s + KEY_S + GATHER_S
_ON_ITS_WAY = (Kind.KEPT, Kind.ARRIVAL)

BOUNDS: dict[Enum, Bound] = {
    Kind.KEPT: Bound(LINK_S + WAYS_S, "LINK, after which it is sent again at once; WAYS"),
    Kind.ARRIVAL: Bound(ARRIVAL_S + WAYS_S, "mending.ARRIVAL_S; WAYS"),
    Kind.HELD: Bound(_GAPS_S + WAYS_S, "mending.GAP_S, mending.ASKED_MAX times and once more; WAYS"),
    Kind.REALS: Bound(STAY_S + QUEUE_S + WAYS_S, "offload.STAY_S; QUEUE; WAYS", _ON_ITS_WAY),
    Kind.GHOSTS: Bound(
        _GHOSTS_S,
        "placement.CONFIRM_S, LINGER_S and LOOK_S; mending.GAP_S; QUEUE",
        (*_ON_ITS_WAY, Kind.REALS, Kind.HELD, Kind.ONCE),
    ),
    Kind.HOOKS: Bound(WAYS_S, "WAYS", (Kind.GHOSTS, Kind.REALS)),
    Kind.AREAS: Bound(SEEK_S + WAYS_S, "seeking.SEEK_S; WAYS", (Kind.GHOSTS, Kind.REALS, Kind.ONCE)),
    Kind.ONCE: Bound(TELEPORT_S + TRAVEL_S, "teleport.TELEPORT_S; the longest movement", (*_ON_ITS_WAY, Kind.REALS)),
    Kind.BASES: Bound(LINK_S + ENTRY_S + 2 * WAYS_S, "LINK; cell_part.ENTRY_S; WAYS, twice", _ON_ITS_WAY),
    Kind.CALLS: Bound(
        _CALLS_S, "LINK; three resends; locator.ANSWER_S; locate_s; resend_max_s", (*_ON_ITS_WAY, Kind.BASES)
    ),
    Kind.CLIENTS: Bound(_CALLS_S, "as the calls", (*_ON_ITS_WAY, Kind.BASES)),
    Kind.PLAYERS: Bound(_PLAYERS_S, "doubts.AGAIN_S and ANSWER_S; log-on place_s; KEY_S; saving.GATHER_S"),
    Kind.BACKLOGS: Bound(BACKLOG_S, "BACKLOG", (Kind.GHOSTS, Kind.AREAS, Kind.PLAYERS, Kind.ONCE)),
    Kind.VIEWS: Bound(
        CLIENT_S + WAYS_S, "CLIENT; WAYS", (Kind.GHOSTS, Kind.AREAS, Kind.PLAYERS, Kind.ONCE, Kind.BACKLOGS)
    ),
    Kind.GAME: Bound(_CALLS_S, "as the calls", (*_ON_ITS_WAY, Kind.GHOSTS)),
}


def table() -> list[str]:
    """The rows of the table in docs/simulator.md."""
    return [
        f"| {kind.name.lower()}: {kind.value} | {bound.within_s:.1f} | {bound.derivation} | {_names(bound.after)} |"
        for kind, bound in BOUNDS.items()
    ]


def _names(kinds: tuple[Enum, ...]) -> str:
    return ", ".join(each.name.lower() for each in kinds)
