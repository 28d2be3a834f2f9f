"""The pieces of the simulator: clock, network, disk, processes, faults."""

from __future__ import annotations

import random
from functools import partial

from terrazzo.cell.core import history
from terrazzo.cell.migration import offload
from terrazzo.cluster.connection import LinkLimits
from terrazzo.sim.clock import Clock
from terrazzo.sim.faults import Fault, FaultKind, FaultPlan
from terrazzo.sim.limits import narrowed
from terrazzo.sim.network import Network
from terrazzo.sim.storage import Disk
from terrazzo.sim.trace import Keep
from terrazzo.sim.world import FaultLevel, World
from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.outbox import Outbox

LIMITS = LinkLimits(heartbeat_s=0.2, silence_s=1.0, greeting_s=1.0, redial_s=0.1, join_s=3.0, late_tick_s=0.5)


def test_the_clock_keeps_the_order_of_what_is_due_at_once():
    clock = Clock()
    seen: list[str] = []
    clock.after(2.0, seen.append, "late")
    clock.after(1.0, seen.append, "first")
    clock.after(1.0, seen.append, "second")
    clock.at(-5.0, seen.append, "past")
    clock.run_until(1.5)
    assert seen == ["past", "first", "second"]
    assert clock.now == 1.5


class Listener:
    """One end of connections: records its events."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int | bytes]] = []
        self.number = 0

    def on_accepted(self, number: int) -> None:
        self.number = number
        self.heard.append(("accepted", number))

    def on_opened(self, number: int) -> None:
        self.heard.append(("opened", number))

    def on_closed(self, number: int) -> None:
        self.heard.append(("closed", number))

    def on_data(self, number: int, data: bytes) -> None:
        self.heard.append(("data", data))


def connected(jitter_s: float = 0.0) -> tuple[Clock, Network, dict[str, Listener], int]:
    clock = Clock()
    network = Network(clock, random.Random(3))
    network.default.jitter_s = jitter_s
    ends = {name: Listener() for name in "ab"}
    for name in ends:
        network.listen(name, partial(ends.get, name))
    number = network.dial("a", "b")
    clock.run_until(1.0)
    return clock, network, ends, number


def data_of(end: Listener) -> list[int | bytes]:
    return [value for kind, value in end.heard if kind == "data"]


def test_frames_in_a_narrow_path_pass_when_it_is_wide_again():
    world = World(3, FaultLevel.HARSH)
    ends = {name: Listener() for name in "ab"}
    for name in ends:
        world.network.listen(name, partial(ends.get, name))
    number = world.network.dial("a", "b")
    world.clock.run_until(1.0)
    Fault(1.0, FaultKind.NARROW, "a", "b", duration_s=2.0, amount=125e6 / 100).apply(world)
    for count in range(50):
        world.network.write(number, b"%099d" % count)
    world.clock.run_until(2.9)
    assert data_of(ends["b"]) == [b"%099d" % 0], "a hundred bytes a second"
    world.clock.run_until(3.1)
    assert data_of(ends["b"]) == [b"%099d" % count for count in range(50)]


def test_a_connection_never_reorders_whatever_the_jitter():
    clock, network, ends, number = connected(jitter_s=0.5)
    for count in range(50):
        network.write(number, b"%d" % count)
        clock.run_until(clock.now + 0.01)
    clock.run_until(10.0)
    assert data_of(ends["b"]) == [b"%d" % count for count in range(50)]


def test_a_clogged_path_delays_and_a_broken_one_loses():
    clock, network, ends, number = connected()
    network.path("a", "b").clogs += 1
    network.write(number, b"held up")
    clock.run_until(5.0)
    assert data_of(ends["b"]) == []
    network.path("a", "b").clogs -= 1
    network.reconsider()
    clock.run_until(6.0)
    assert data_of(ends["b"]) == [b"held up"]
    network.write(number, b"lost")
    assert network.break_between("a", "b") == 1
    clock.run_until(7.0)
    assert data_of(ends["b"]) == [b"held up"]
    assert [kind for kind, _ in ends["a"].heard] == ["opened", "closed"]
    assert ends["b"].heard[-1][0] == "closed"


def test_a_fault_may_be_one_way():
    world = World(1)
    network, ends = world.network, {name: Listener() for name in ("a", "b")}
    for name in ends:
        network.listen(name, partial(ends.get, name))
    number = network.dial("a", "b")
    world.clock.run_until(1.0)
    Fault(1.0, FaultKind.CLOG, "a", "b", duration_s=3.0, is_one_way=True).apply(world)
    Fault(1.0, FaultKind.LAG, "b", "a", duration_s=3.0, amount=1.0, is_one_way=True).apply(world)
    network.write(number, b"to b")
    network.write(number + 1, b"to a")
    world.clock.run_until(1.9)
    assert (data_of(ends["a"]), data_of(ends["b"])) == ([], [])
    world.clock.run_until(2.1)
    assert (data_of(ends["a"]), data_of(ends["b"])) == ([b"to a"], [])
    world.clock.run_until(4.1)
    assert data_of(ends["b"]) == [b"to b"]
    network.write(number + 1, b"at once")
    world.clock.run_until(4.2)
    assert data_of(ends["a"]) == [b"to a", b"at once"]


def test_a_close_comes_after_what_was_written():
    clock, network, ends, number = connected()
    network.write(number, b"last words")
    network.close(number)
    clock.run_until(2.0)
    assert [kind for kind, _ in ends["b"].heard] == ["accepted", "data", "closed"]
    assert [kind for kind, _ in ends["a"].heard] == ["opened"]


def test_capacity_takes_time():
    clock, network, ends, number = connected()
    network.path("a", "b").bytes_per_s = 100.0
    network.write(number, bytes(200))
    clock.run_until(2.5)
    assert data_of(ends["b"]) == []
    clock.run_until(3.5)
    assert len(data_of(ends["b"])) == 1


def test_datagrams_are_lost_repeated_and_overtaken():
    clock = Clock()
    network = Network(clock, random.Random(3))
    got: list[int] = []
    network.receive_datagrams("b", lambda source, data: got.append(int(data)))
    path = network.path("a", "b")
    path.loss, path.duplication, path.jitter_s = 0.3, 0.3, 0.5
    for count in range(200):
        network.send_datagram("a", "b", b"%d" % count)
        clock.run_until(clock.now + 0.01)
    clock.run_until(10.0)
    assert len(set(got)) < 200
    assert len(got) > len(set(got))
    assert got != sorted(got)


def test_a_disk_keeps_what_it_confirmed_and_perhaps_what_it_did_not():
    outcomes = set()
    for seed in range(20):
        clock = Clock()
        disk = Disk(clock, random.Random(seed))
        done: list[object] = []
        disk.write("k", b"1", done.append)
        clock.run_until(1.0)
        assert done == [True]
        disk.write("k", b"2", done.append)
        disk.owner_crashed()
        clock.run_until(2.0)
        assert done == [True], "nobody waits for the second write any more"
        outcomes.add(disk.kept["k"])
    assert outcomes == {b"1", b"2"}


def test_a_disk_applies_writes_of_one_key_in_the_order_asked_and_may_fail():
    for seed in range(20):
        clock = Clock()
        disk = Disk(clock, random.Random(seed))
        for value in (b"1", b"2", b"3"):
            disk.write("k", value, lambda ok: None)
        clock.run_until(1.0)
        assert disk.kept["k"] == b"3"
    answers: list[object] = []
    disk.failures = 1
    disk.write("k", b"4", answers.append)
    disk.read("k", lambda ok, value: answers.append((ok, value)))
    clock.run_until(2.0)
    assert sorted(map(str, answers)) == ["(False, None)", "False"]
    assert disk.kept["k"] == b"3"


class Greeter:
    """An app that sends a number to its peer in every tick."""

    def __init__(self, peer: AppId | None) -> None:
        self.outbox = Outbox()
        self.peer = peer
        self.count = 0
        self.heard: list[str | tuple[int, int]] = []

    def on_message(self, source: AppId, message: object) -> None:
        assert isinstance(message, Astray)
        self.heard.append((source.incarnation, message.part.entity))

    def on_link_up(self, peer: AppId) -> None:
        self.heard.append("up")

    def on_link_lost(self, peer: AppId) -> None:
        self.heard.append("lost")

    def on_tick(self) -> None:
        if self.peer is not None:
            self.outbox.send(self.peer, Astray(PartId(EntityId(self.count), Part.CELL), 0))
            self.count += 1


def two_processes() -> tuple[World, Greeter]:
    world = World(5, keep=Keep.HASH)
    listener = Greeter(None)
    world.add(AppKind.CELL_APP, 1, lambda process: listener, tick_s=0.1, limits=LIMITS)
    target = world.processes["cell_app-1"].id
    world.add(AppKind.BASE_APP, 1, lambda process: Greeter(target), tick_s=0.1, limits=LIMITS)
    return world, listener


def test_paused_process_receives_everything_when_it_wakes():
    world, listener = two_processes()
    world.clock.run_until(1.0)
    before = len(listener.heard)
    world.processes["cell_app-1"].pause(0.5)
    world.clock.run_until(1.45)
    assert len(listener.heard) == before
    world.clock.run_until(2.0)
    numbers = [entry[1] for entry in listener.heard if isinstance(entry, tuple)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > before


def test_a_crashed_process_comes_back_with_the_next_incarnation():
    world, listener = two_processes()
    world.clock.run_until(1.0)
    process = world.processes["base_app-1"]
    process.crash(silently=False)
    world.clock.run_until(1.5)
    assert listener.heard[-1] == "lost"
    process.start()
    world.clock.run_until(2.5)
    assert listener.heard[listener.heard.index("lost") + 1] == "up"
    sources = [entry[0] for entry in listener.heard if isinstance(entry, tuple)]
    assert sources[-1] == 2


def test_a_power_cut_is_noticed_by_silence():
    world, listener = two_processes()
    world.clock.run_until(1.0)
    world.processes["base_app-1"].crash(silently=True)
    world.clock.run_until(1.5)
    assert listener.heard[-1] != "lost"
    world.clock.run_until(3.0)
    assert listener.heard[-1] == "lost"


def test_a_partition_ends_by_itself():
    world, listener = two_processes()
    Fault(0.0, FaultKind.PARTITION, "", group=("base_app-1",), duration_s=5.0).apply(world)
    world.clock.run_until(4.0)
    assert listener.heard == []
    world.clock.run_until(10.0)
    assert "up" in listener.heard


def test_a_process_keeps_its_disk_and_the_disk_has_faults_too():
    world, _ = two_processes()
    disk = world.disk("base_app-1")
    answers: list[bool] = []
    Fault(0.0, FaultKind.BAD_DISK, "base_app-1", duration_s=1.0).apply(world)
    disk.write("k", b"1", answers.append)
    world.clock.run_until(2.0)
    Fault(2.0, FaultKind.SLOW_DISK, "base_app-1", duration_s=1.0, amount=1000.0).apply(world)
    disk.write("k", b"2", answers.append)
    world.clock.run_until(3.0)
    assert answers == [False]
    world.processes["base_app-1"].crash(silently=False)
    world.clock.run_until(60.0)
    assert answers == [False], "its owner is dead"
    assert disk.slowness == 1.0
    assert world.disk("base_app-1") is disk


def test_faults_are_drawn_from_the_seed_and_only_the_mortal_die():
    plan = FaultPlan(["a", "b", "c"], mortal=["b"], disks=["c"])
    drawn = [plan.draw(World(seed).rng, FaultLevel.HARSH, 10.0) for seed in range(30)]
    assert drawn[0] == plan.draw(World(0).rng, FaultLevel.HARSH, 10.0)
    every = [fault for faults in drawn for fault in faults]
    assert {fault.kind for fault in every} == set(FaultKind)
    assert {fault.a for fault in every if fault.kind in (FaultKind.CRASH, FaultKind.POWER)} == {"b"}
    assert {fault.a for fault in every if fault.kind in (FaultKind.SLOW_DISK, FaultKind.BAD_DISK)} == {"c"}
    assert plan.draw(World(0).rng, FaultLevel.NONE, 10.0) == []
    assert all(str(fault) for fault in every)


def test_plan_beside_another_does_not_change_it():
    pairs = [("a", "b"), ("b", "c")]
    parted = FaultPlan(["a", "b", "c"], pairs=pairs, kinds=(FaultKind.PARTITION,), name="partitions")
    alone = FaultPlan(["a", "b", "c"], pairs=pairs, kinds=(FaultKind.BREAK,))
    both = FaultPlan(["a", "b", "c"], pairs=pairs, kinds=(FaultKind.BREAK,), beside=[parted])
    drawn = [(World(seed), both.draw(World(seed).rng, FaultLevel.HARSH, 10.0)) for seed in range(10)]
    for world, faults in drawn:
        assert [each for each in faults if each.kind is FaultKind.BREAK] == alone.draw(
            world.rng, FaultLevel.HARSH, 10.0
        )
        assert faults == sorted(faults, key=lambda each: each.at)
    partitions = [each for _, faults in drawn for each in faults if each.kind is FaultKind.PARTITION]
    assert partitions
    for each in partitions:
        assert sorted(each.group + each.others) == ["a", "b", "c"], "those who are no part of the plan are left alone"


def test_limits_are_narrow_for_the_length_of_a_run():
    usual = (history.STEPS_MAX, history.PACKED_STEPS_MAX, offload.OFFLOADS_MAX)
    seen = set()
    for seed in range(40):
        with narrowed(random.Random(seed), has_gaps=True):
            seen.add((history.STEPS_MAX, history.PACKED_STEPS_MAX, offload.OFFLOADS_MAX))
        assert usual == (history.STEPS_MAX, history.PACKED_STEPS_MAX, offload.OFFLOADS_MAX)
    assert {steps for steps, _, _ in seen} == {usual[0], 6}
    assert {most for _, _, most in seen} == {usual[2], 1, 3}
