"""A player in a plaza without a network; everything of the game runs as it is."""

from __future__ import annotations

import math
from pathlib import Path

from terrazzo.game import load_game
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.world import World
from terrazzo.sync.view_events import MethodCalled, ViewEvent, Violation

PLAZA = Path(__file__).parents[2] / "examples" / "plaza"


class Town:
    """The cluster, five seconds after its start."""

    def __init__(self, cells=4):
        self.world = World(seed=3)
        self.errors: list[object] = []
        self.world.on_log = lambda process, event, facts: self.errors.append(facts) if event == "game error" else None
        self.cluster = Cluster(self.world, load_game(PLAZA), cells=cells, bases=2)
        self.world.clock.run_until(5.0)


class Visit:
    """A player in a plaza of four cells, each of which has a cell of the hall as well or not, as it comes."""

    def __init__(self, town=None, name="ann"):
        self.town = town or Town()
        self.world, self.cluster, self.errors = self.town.world, self.town.cluster, self.town.errors
        self.events: list[ViewEvent] = []
        self.app = self.cluster.client(name, "secret", listener=self.events.append).app
        self.wait(5.0)
        assert self.app.has_body, self.app.error

    @property
    def player(self):
        assert self.app.player is not None
        return self.app.player

    def wait(self, seconds):
        self.world.clock.run_until(self.world.clock.now + seconds)

    def walk(self, x, z):
        for _ in range(400):
            at_x, _, at_z = self.player.position
            away = math.hypot(x - at_x, z - at_z)
            if away < 1.0:
                return
            self.app.move((at_x + (x - at_x) / away, 0.0, at_z + (z - at_z) / away))
            self.wait(0.1)
        raise AssertionError(f"did not get to {x}, {z}; is at {self.player.position}")

    def told(self):
        return [
            each.args[0] for each in self.events if isinstance(each, MethodCalled) and each.method.name == "on_told"
        ]

    def others(self, kind):
        return [each for each in self.app.view.others.values() if each.schema.name == kind]

    def faults(self):
        return [each for each in self.events if isinstance(each, Violation)]
