"""`terrazzo bench base` in small: the whole of it with a few clients; the stand-in by itself; the fit."""

import asyncio

import pytest

from terrazzo._speed.movers import Row, pack_row
from terrazzo.bench import base_game
from terrazzo.bench.base import FIRST_STEP, SHARE, _next, measure, report
from terrazzo.bench.base_cell import AROUND, StandIn
from terrazzo.bench.base_stage import Step, fit
from terrazzo.bench.bots import measure as measure_bots
from terrazzo.bench.bots import report as report_bots
from terrazzo.client import ClientGame
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.game import load_game
from terrazzo.sync.protocol import ToServer, decode_released, decode_want, encode_base_player
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import Changed, Entered, Left, Violation
from terrazzo.wire.entity.messages import Frame, Frames
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import (
    ClientUpdates,
    ClientWants,
    CreateReal,
    Moves,
    SetWitness,
    ToClient,
)
from tests.fake_host import FakeHost

ENTITY = 7
BASE_PART, CELL_PART = PartId(EntityId(ENTITY), Part.BASE), PartId(EntityId(ENTITY), Part.CELL)


class BaseSide(ClusterApp):
    """One base with a client that has a real view, as far as the stand-in has one."""

    def __init__(self, me, host, game):
        super().__init__(me, host)
        self.switchboard = Switchboard(me, host, self.outbox, self)
        self.on(Frame, self.switchboard.on_message)
        self.on(Frames, self.switchboard.on_message)
        self.on(ClientUpdates, self._on_updates)
        self.seen = ClientView(ClientGame.of(game).methods)
        player = game.player
        values = [
            player.client_layout.new_values()[player.client_layout.index[n]] for n in player.base_player_layout.names
        ]
        self.seen.apply(encode_base_player(ENTITY, player, values))
        self.events = []
        self.updates = []

    def locate(self, part):
        pass

    def on_undelivered(self, *_):
        pass

    def on_ended(self, part):
        pass

    def _on_updates(self, source, message):
        for update in message.read():
            self.updates += update.messages
            for each in update.messages:
                self.events += self.seen.apply(each)

    def on_tick(self):
        super().on_tick()
        wants, released = [], []
        for part in self.switchboard.with_mail():
            for _, payload in self.switchboard.take(part):
                mail = REGISTRY.decode_nested(payload)
                if isinstance(mail, ToClient):
                    for each in mail.messages:
                        self.events += self.seen.apply(each)
        for answer in self.seen.answers():
            if answer[0] == ToServer.WANT:
                wants += decode_want(answer[1:])
            else:
                released += decode_released(answer[1:])
        if wants or released:
            message = ClientWants(1, tuple(wants), tuple(released))
            self.switchboard.send(BASE_PART, CELL_PART, REGISTRY.encode(message))
        self.switchboard.on_tick()


class Pair:
    """The stand-in and the base side; bundles go to and fro between them."""

    def __init__(self):
        game, self.host = load_game(base_game.__file__), FakeHost()
        self.cell = StandIn(AppId(AppKind.CELL_APP, 0, 1), self.host, game)
        self.base = BaseSide(AppId(AppKind.BASE_APP, 0, 1), self.host, game)
        self.base.switchboard.create(BASE_PART)
        properties = game.player.cell_layout.row.encode(game.player.cell_layout.new_values())
        make = CreateReal(ENTITY, game.player.type_id, 1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), properties, 0, 1)
        self.base.requests.ask(self.cell.me, make, timeout_s=9.0, then=self._on_made, failed=self._on_failed)

    def _on_made(self, _):
        self.base.switchboard.learn(CELL_PART, 1 << 32, self.cell.me)
        self.base.switchboard.pin(BASE_PART, CELL_PART)
        self.base.switchboard.send(BASE_PART, CELL_PART, REGISTRY.encode(SetWitness(1, True)))

    def _on_failed(self, *why):
        raise AssertionError(why)

    def run(self, ticks):
        for _ in range(ticks):
            self.host.now += 0.1
            for app in (self.base, self.cell):
                app.on_tick()
                for peer, bundles in app.outbox.drain():
                    other = self.cell if app is self.base else self.base
                    assert peer == other.me
                    for bundle in bundles:
                        for message in REGISTRY.decode_bundle(bundle):
                            other.on_message(app.me, message)  # type: ignore[arg-type]  # nothing is refused here


def test_stand_in_serves_a_client_with_a_story_that_holds():
    pair = Pair()
    pair.run(400)
    assert [each for each in pair.base.events if isinstance(each, Violation)] == []
    assert len(pair.base.seen.others) in (AROUND - 1, AROUND)  # the newest may not be described yet
    kinds = [type(each) for each in pair.base.events]
    assert kinds.count(Changed) > 200
    assert kinds.count(Left) > 60
    assert kinds.count(Entered) >= AROUND + 60
    assert {len(each) for each in pair.base.updates} == {204}
    assert pair.cell.totals.updates == pytest.approx(len(pair.base.updates), abs=2)


def test_stand_in_counts_moves_and_those_that_were_lost_before():
    pair = Pair()
    pair.run(5)

    def row(arrived, made):
        return pack_row(Row(ENTITY, arrived, (0.0, float(made), 0.0), (0.0, 0.0, 0.0)))

    pair.cell.on_message(pair.base.me, Moves(row(1, 1)))
    pair.cell.on_message(pair.base.me, Moves(row(3, 4) + pack_row(Row(99, 1, (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)))))
    totals = pair.cell.totals
    assert (totals.rows, totals.moves_arrived, totals.moves_made) == (3, 3, 4)


def test_fit_finds_the_line_and_the_number_at_a_share_of_a_core():
    line = fit([(100, 0.12), (200, 0.22), (400, 0.42)])
    assert (line.intercept, line.slope) == pytest.approx((0.02, 0.001))
    assert line.reaches(SHARE) == pytest.approx(780)
    assert fit([(50, 0.1)]).reaches(SHARE) == pytest.approx(400)


def step(clients, share, **others):
    values = dict.fromkeys(Step.__struct_fields__, 0) | {"clients": clients, "clients_served": clients}
    return Step(**values | {"base_share": share, "base_kib": 60_000 + 30 * clients} | others)


def test_report_has_no_number_of_clients_when_the_line_does_not_rise():
    assert "clients_per_core" not in report([step(1, 0.2), step(2, 0.1)], [], "no loop")["figures"]


def test_report_leaves_out_what_was_not_measured():
    figures = report([step(100, 0.1)], [], "no loop")["figures"]
    assert set(figures) == {"clients_per_core", "datagrams_per_client_tick", "lost"}
    largest = step(200, 0.2, lost=2, datagrams_dropped=1, datagrams_up=1.0, datagrams_down=1.0)
    figures = report([step(100, 0.1), largest], [step(10, 0.1)], 40_000.0)["figures"]
    assert figures["kib_per_client"] == pytest.approx(30)
    assert figures["clients_per_core"] == 800
    assert figures["ws_clients_per_core"] == 80
    assert figures["lost"] == 3
    assert figures["limit_ratio"] == pytest.approx(0.5)


def test_a_small_run_with_real_processes_loses_nothing():
    result = asyncio.run(measure(clients=6, seconds=1.0, ws_clients=2))
    figures = result["figures"]
    assert figures["lost"] == 0
    assert 0.5 < figures["datagrams_per_client_tick"] < 3
    assert result["step 6"]["out"] == 0
    assert result["step 6"]["gap_p50_ms"] is not None
    assert result["step 6"]["round_trip_p50_ms"] is not None


def test_steps_grow_to_the_share_and_end_where_the_machine_does():
    assert _next([], 0, 2.0) == FIRST_STEP
    assert _next([step(50, 0.1)], 0, 2.0) == 200  # at most four times as many
    assert _next([step(200, 0.4)], 0, 2.0) == 400
    assert _next([step(200, 0.4, crowd_share=0.4, stand_in_share=0.2)], 0, 1.5) == 300  # all processes share the cores
    assert _next([step(400, 0.79)], 0, 2.0) == 0
    assert _next([step(200, 0.4, clients_served=150)], 0, 2.0) == 0
    assert (_next([], 7, 2.0), _next([step(4, 0.1)], 7, 2.0)) == (4, 7)


def test_small_run_of_bots_and_walkers_has_both():
    result = asyncio.run(measure_bots(bots=4, walkers=6, seconds=1.0))
    assert list(result["bots"]) == ["2 served", "4 served"]
    assert list(result["crowd"]) == ["3 served", "6 served"]


def test_bots_report_has_no_figure_for_a_line_that_does_not_rise():
    rising, falling = [(10.0, 0.1), (20.0, 0.2)], [(10.0, 0.2), (20.0, 0.1)]
    assert report_bots(rising, falling)["figures"] == {"bots_per_core": 80}
