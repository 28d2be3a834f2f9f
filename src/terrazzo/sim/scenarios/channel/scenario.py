"""Scenario `channel`: pairs of parts that move at random between homes, while links break, lag and clog.

In some worlds the place of a part cannot be requested (and no app dies): there, moves and forwarding must be enough.
Beside them clients and a server exchange messages over datagrams (`clients.py`). Promise P2 is judged as it happens and
again at rest; and at rest nothing may be left over: no message that is not accounted for, no buffer, no stream that has
not retired, no pair of parts without each other's place.
"""

from __future__ import annotations

from random import Random

from terrazzo.cluster.connection import LinkLimits
from terrazzo.sim.faults import FaultPlan
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.oracle import check
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.scenarios.channel.clients import ClientTraffic
from terrazzo.sim.scenarios.channel.directory import DirectoryApp
from terrazzo.sim.scenarios.channel.homes import Habits, HomeApp
from terrazzo.sim.scenarios.channel.ledger import Ledger, Truth
from terrazzo.sim.world import Process, World
from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId


def _draw_habits(rng: Random, is_hasty: bool) -> Habits:
    """Some worlds are hasty: many moves, short calls to unknown parts, quick answers, so that copies come late."""
    return Habits(
        send=10 ** (rng.uniform(-1.3, -0.6) if is_hasty else rng.uniform(-2, -0.3)),
        stranger=0.9 if is_hasty else rng.choice([0.0, 0.2, 0.9]),
        move=10 ** (rng.uniform(-1.5, -0.7) if is_hasty else rng.uniform(-2.5, -0.7)),
        destroy=rng.choice([0.0, 0.0, 0.001, 0.005]),
        dawdle=0.0 if is_hasty else rng.choice([0.0, 0.3, 0.8]),
        backup_s=rng.uniform(0.1, 1.0),
        payload_bytes=rng.choice([0, 10, 300]),
        has_resolver=rng.random() < 0.7,
    )


def _draw_limits(rng: Random, is_hasty: bool, has_resolver: bool) -> ChannelLimits:
    return ChannelLimits(
        window=rng.choice([4, 16, 256]),
        frame_bytes=rng.choice([50, 60_000]),
        inbox_max=rng.choice([3, 4096]),
        resend_s=0.04 if is_hasty else rng.choice([0.04, 0.15, 0.5]),
        resend_max_s=rng.uniform(0.5, 2.0),
        ack_s=rng.choice([0.0, 0.03, 0.25]),
        idle_s=0.02 if is_hasty else rng.choice([0.02, 0.2, 2.0]),
        probe_s=rng.uniform(1.0, 5.0),
        stub_s=rng.choice([0.5, 2.0, 10.0]) if has_resolver else 1e9,
        hops_max=rng.choice([1, 8]) if has_resolver else 8,
        locate_s=0.5,
    )


@scenario("channel")
class ChannelScenario:
    """See the module."""

    def __init__(self, world: World, mutation: str | None) -> None:
        self._world = world
        self._truth = Truth()
        self._is_working = True
        rng = self._rng = world.rng("channel")
        self.duration_s = rng.uniform(3.0, 10.0)
        network = world.network.default
        network.latency_s, network.jitter_s = 10 ** rng.uniform(-4, -1.5), rng.choice([0.0, 0.001, 0.03])
        is_hasty = rng.random() < 0.3
        self._habits = _draw_habits(rng, is_hasty)
        self._limits = _draw_limits(rng, is_hasty, self._habits.has_resolver)
        self._mutation = mutation_of(mutation, "channel")
        links = LinkLimits(heartbeat_s=0.25, silence_s=1.0, greeting_s=1.0, redial_s=0.1, join_s=2.0, late_tick_s=0.5)
        tick_s = 0.02 if is_hasty else rng.choice([0.02, 0.05, 0.1])
        dead_s = rng.uniform(0.5, 2.0) if self._habits.has_resolver else 1e9
        links_type = self._mutation.links
        self._directory = world.add(
            AppKind.BASE_APP_MGR,
            0,
            lambda p: DirectoryApp(p, self._truth, dead_s),
            tick_s=tick_s,
            limits=links,
            links_type=links_type,
        )
        self._homes = [
            world.add(AppKind.CELL_APP, number, self._build_home, tick_s=tick_s, limits=links, links_type=links_type)
            for number in range(1, rng.randrange(3, 7))
        ]
        self._stretch_paths()
        self._found()
        self._introduce()
        self._clients = ClientTraffic(world, self._mutation.client)

    @property
    def plan(self) -> FaultPlan:
        """All processes but the directory may crash."""
        homes = [process.name for process in self._homes]
        return FaultPlan(places=[self._directory.name, *homes], mortal=homes if self._habits.has_resolver else [])

    def quiesce(self) -> None:
        """See Scenario."""
        self._is_working = False
        self._clients.quiesce()
        for app in self._apps():
            app.is_working = False

    def unrest(self) -> Unrest | None:
        """See Scenario."""
        directory = self._directory.app
        assert isinstance(directory, DirectoryApp)
        apps = self._apps()
        if len(apps) < len(self._homes) or directory.is_busy or any(app.id in self._truth.dead for app in apps):
            return Unrest("a dead app is being recovered", (self._directory.name,))
        ledgers: dict[PartId, Ledger] = {}
        homes: dict[PartId, AppId] = {}
        for app in apps:
            if app.in_air or len(app.requests):
                in_air = [*map(str, app.in_air)]
                return Unrest(f"{app.id} has in the air {in_air} and asks {len(app.requests)}", tuple(app.in_air))
            for part, ledger in app.ledgers.items():
                check(part not in homes, "P1", f"{part} lives at {homes.get(part)} and at {app.id}", part)
                homes[part], ledgers[part] = app.id, ledger
        for part in self._truth.parts:
            if part not in homes and part not in self._truth.destroyed and part not in self._truth.lost:
                return Unrest(f"{part} lives nowhere", (part,))
        for app in apps:
            rest = self._unrest_of(app, homes)
            if rest is not None:
                return rest
        return self._truth.judge(ledgers) or self._clients.unrest()

    def _unrest_of(self, app: HomeApp, homes: dict[PartId, AppId]) -> Unrest | None:
        for part, box in app.switchboard.boxes.items():
            if box.is_ending or box.inbox:
                return Unrest(f"{part} at {app.id} is ending, or has mail", (part,))
            for peer, channel in box.channels.items():
                what = self._unrest_in(app, channel, homes)
                if what is not None:
                    return Unrest(f"{part} at {app.id}: its channel to {peer} {what}", (part, peer))
        return None

    def _unrest_in(self, app: HomeApp, channel: Channel, homes: dict[PartId, AppId]) -> str | None:
        """At rest only pinned channels are left, they are empty, and both ends have each other's place."""
        stream, incoming = channel.outgoing, channel.incoming
        if stream is not None and stream.buffer:
            return f"has {len(stream.buffer)} unacknowledged from {stream.first}"
        if incoming is not None and incoming.held:
            return f"holds {sorted(incoming.held)}, expects {incoming.expected}"
        if not channel.pinned and not self._truth.lives.get(channel.peer):
            return f"has not retired (out {stream is not None}, in {incoming is not None})"
        if channel.confirmed < channel.box.version:
            return "has no confirmation of its move"
        known = app.switchboard.home_of(channel.peer)
        return None if known == homes.get(channel.peer) else f"has its peer's place as {known}"

    # Building.

    def _build_home(self, process: Process) -> HomeApp:
        app = HomeApp(process, self._truth, self._habits, self._limits, self._mutation)
        app.is_working = self._is_working
        self._world.clock.after(0.0, self._introduce)
        return app

    def _stretch_paths(self) -> None:
        """Makes some paths much longer than others, so that messages on two paths overtake each other."""
        places = [self._directory.name, *(process.name for process in self._homes)]
        for number, a in enumerate(places):
            for b in places[:number]:
                path = self._world.network.path(a, b)
                path.latency_s = min(path.latency_s * self._rng.choice([1.0, 1.0, 5.0, 50.0]), 0.2)

    def _introduce(self) -> None:
        ids = [process.id for process in self._homes] if hasattr(self, "_homes") else []
        for app in self._apps() if ids else []:
            app.know(ids)

    def _found(self) -> None:
        apps, directory = self._apps(), self._directory.app
        assert isinstance(directory, DirectoryApp)
        for entity in range(1, self._rng.randrange(2, 5)):
            base, cell = PartId(EntityId(entity), Part.BASE), PartId(EntityId(entity), Part.CELL)
            for part in (base, cell):
                self._truth.parts.append(part)
                home = self._rng.choice(apps)
                home.found(part)
                directory.found(part, home.id)
        for app in apps:
            for part in app.ledgers:
                app.switchboard.pin(part, PartId(part.entity, Part.CELL if part.part is Part.BASE else Part.BASE))

    def _apps(self) -> list[HomeApp]:
        return [process.app for process in self._homes if isinstance(process.app, HomeApp)]
