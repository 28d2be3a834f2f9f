"""An entity that is near a client for long enough is in its view (P4): a bound on how late an entity appears.

Judged in worlds without faults. The bound is the sum of the longest times of the protocol, by its own timers:

    LOOK_S            between two checks whether a standing entity needs new ghosts (`cell/ghosts/placement.py`)
    WANT_S            a witness waits so long for the client to want what was announced (`cell/client/sent.py`)
    HOPS              ticks of the apps on the way: made, announced, wanted, described
    GAP_S             an early creation is held so long (`cell/ghosts/receiver.py`); only where paths differ in length
    WAYS              messages one after the other, each over the longest path of this world: the first link between two
                      CellApps, for the real and for its ghost (3 each), then cell, base and client, three times

In a world with short paths that is 5 s. Where a check makes only one ghost, or three (`sim/limits.py`), the bound grows
with the number of ghosts. Not judged where other limits decide: with CellApps that have less time than they need, and
with a budget of bytes that is too small for the entities around.

Two entities are near each other while they are within the radius at each moment, wherever both go meanwhile. A ghost
has a place later than its real: so each two places are compared that are no more than LAG_TICKS apart, and where paths
are long, a gap and a path more.
"""

from __future__ import annotations

from collections.abc import Sequence

from terrazzo.cell.cellapp import TICK_S
from terrazzo.cell.client.sent import WANT_S
from terrazzo.cell.ghosts import placement
from terrazzo.cell.ghosts.mending import GAP_S
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.players import Mode, Player
from terrazzo.sim.scenarios.seamless.reals_and_ghosts import Truth
from terrazzo.sim.world import World

EVERY_S = 0.5
HOPS = 10
WAYS = 12
LAG_TICKS = 5
"""The real's step, the path, the ghost's CellApp; and the round in which areas are computed."""
BITS_S_MIN = 60_000.0
"""A client with less may have to wait for descriptions."""


class Sightings:
    """Compares the view of each client with its surroundings, again and again."""

    def __init__(self, world: World, judge: Judge, truth: Truth, players: Sequence[Player]) -> None:
        self.judged = 0
        """The number of comparisons."""
        self._world = world
        self._judge = judge
        self._truth = truth
        self._players = players

    def begin(self) -> None:
        """Begins to compare."""
        self._world.clock.after(EVERY_S, self._look)

    def late_s(self) -> float:
        """How late an entity may appear in this world; see the module."""
        shape, apps = self._judge.shape, self._truth.apps
        ways = 0.0 if shape.is_swift else GAP_S + WAYS * self._world.network.longest_s()
        turns = len(self._judge.stories) * len(apps) / placement.CREATED_MAX
        return placement.LOOK_S + WANT_S + HOPS * TICK_S + ways + turns * placement.CHECK_TICKS * TICK_S

    def lag_s(self) -> float:
        """How much later than its real a ghost may be."""
        ways = 0.0 if self._judge.shape.is_swift else GAP_S + self._world.network.longest_s()
        return LAG_TICKS * TICK_S + ways

    def _look(self) -> None:
        since = self._world.clock.now - self.late_s()
        for player in self._players:
            if player.mode is Mode.IN and since > 0:
                self.judged += 1
                self._look_at(player, since)
        self._world.clock.after(EVERY_S, self._look)

    def _look_at(self, player: Player, since: float) -> None:
        lag_s = self.lag_s()
        for entity in self._judge.stories:
            story, real = self._judge.story(entity), self._truth.real_of(entity)
            if story is None or real is None:
                continue
            schema = real.body.kind.schema
            if schema.on_client and not schema.is_manual_aoi:
                near_s = self._world.clock.now - since
                what = f"{player.name} does not see entity {entity}, which has been near for {near_s:.1f} s"
                check(not player.misses(story, since, lag_s), "P4", what, player.name, player.entity, entity)
