"""The ground moves under the entities: a true CellAppMgr adds and retires cells and moves borders of true CellApps."""

from __future__ import annotations

from random import Random

import pytest

from terrazzo.errors import UsageError
from terrazzo.managers.cellapp_mgr import CellAppMgr, ManagerState
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cellmgr_cell import CellEmpty, CellRemoved, SpaceTree
from terrazzo.world.bsp import BspTree
from tests.cell.land import MANAGER, Land, stripes
from tests.cell.plain import plain_game


class Realm(Land):
    """A land with a true manager; of `cells` CellApps the last `spares` have no cell yet."""

    def __init__(self, cells: int, *, spares: int = 1, seed: int | None = None, margin_m: float = 3.0) -> None:
        super().__init__(cells, margin_m=margin_m)
        self.mgr = CellAppMgr(MANAGER, self.host, plain_game().policy.spaces, cells - spares)
        self.apps[MANAGER] = self.mgr
        for app in self.cells:
            self.mgr.on_link_up(app.me)
        self.step(4)
        assert self.mgr.state is ManagerState.READY
        self.rng = None if seed is None else Random(seed)

    def plant(self, *_args, **_more) -> None:
        """The true manager does that."""

    def id(self, index: int) -> AppId:
        return self[index].me

    def change(self, change) -> None:
        """A change of the ground, tried again while the space is being changed."""
        for _ in range(100):
            try:
                change()
                return
            except UsageError as problem:
                if "try again" not in str(problem):
                    raise
                self.step()
        raise AssertionError("the space is never done changing")

    def add(self, index: int, **where) -> None:
        self.change(lambda: self.mgr.add_cell("plain", self.id(index), **where))

    def retire(self, index: int) -> None:
        self.change(lambda: self.mgr.retire_cell("plain", self.id(index)))

    def check_homes(self) -> None:
        """At rest each real is where the manager's tree puts it, or within the margin; no real is leaving."""
        tree = self.mgr.tree_of("plain")
        for entity in self.base.created:
            home = self.home(entity)
            assert home is not None
            x, _, z = self[home].bodies[entity].position
            mine = tree.leaf_of(self.id(home))
            assert mine is not None
            assert tree.rect_of(mine).outside_by(x, z) <= self[home].core.offload_margin_m
        assert self.mgr.view()["spaces"][0]["retiring"] == []
        for index, app in enumerate(self.cells):
            if tree.leaf_of(self.id(index)) is None:
                assert 1 not in app.spaces, f"{app.me} has not forgotten the space"
            else:
                assert app.spaces[1].version == self.mgr.view()["spaces"][0]["version"]


def crowd(realm: Realm, count: int = 6) -> None:
    for number in range(count):
        x, z = 60.0 * number - 150.0, 40.0 * (number % 3) - 40.0
        app = realm.mgr.tree_of("plain").leaf_at(x, z).app
        on = next(index for index in range(len(realm.cells)) if realm.id(index) == app)
        realm.create(number + 1, x, z, on=on, is_seen=number % 2 == 0)
    realm.step(10)


def homes(realm) -> set[int | None]:
    """Where the crowd is."""
    return {realm.home(entity) for entity in range(1, 7)}


def test_a_new_cell_takes_its_share():
    realm = Realm(2, spares=1)
    crowd(realm)
    assert homes(realm) == {0}
    realm.add(1)
    realm.settle(40)
    assert homes(realm) == {0, 1}
    realm.check_homes()


def test_race_09_retiring_cell_is_left_by_all_and_then_dropped():
    realm = Realm(2, spares=0)
    crowd(realm)
    assert homes(realm) == {0, 1}
    realm.retire(1)
    realm.settle(80)
    assert homes(realm) == {0}
    realm.check_homes()
    assert realm[1].bodies == {}


def test_race_09_it_may_have_a_cell_again():
    realm = Realm(2, spares=0)
    crowd(realm)
    for _ in range(2):
        realm.retire(1)
        realm.settle(80)
        realm.check_homes()
        realm.add(1)
        realm.settle(60)
        assert homes(realm) == {0, 1}
        realm.check_homes()


def test_race_09_what_arrives_at_a_cell_that_has_gone_is_passed_on():
    realm = Realm(2, spares=0)
    walker = 1
    realm.create(walker, -10.0, on=0, is_seen=True)
    realm.step(10)
    realm.block(0, 1)  # what 0 sends to 1 takes its time
    realm.put(walker, 10.0)
    realm.step(2)
    assert realm.home(walker) is None
    realm.retire(1)
    realm.step(60)
    assert realm.mgr.view()["spaces"][0]["retiring"] == [str(realm.id(1))], "0 still has something on its way to 1"
    assert realm[1].spaces[1].leaf is None
    realm.settle(100)
    assert realm.home(walker) == 0
    realm.check_homes()


def test_retired_cellapp_repeats_cell_empty():
    realm = Realm(2, spares=0)
    crowd(realm)
    realm.retire(1)
    realm.step(1)
    manager, retired = (MANAGER, realm.id(1)), (realm.id(1), MANAGER)
    for _ in range(6):  # the link with the manager breaks again and again, with what was on it
        realm.step(7)
        realm.queues.pop(manager, None)
        realm.queues.pop(retired, None)
        realm.mgr.outbox.discard(realm.id(1))
        realm[1].outbox.discard(MANAGER)
        realm.mgr.on_link_lost(realm.id(1))
        realm[1].on_link_lost(MANAGER)
        realm[1].on_link_up(MANAGER)
        realm.mgr.on_link_up(realm.id(1))
    realm.settle(100)
    realm.check_homes()


def test_a_tree_that_does_not_decode_changes_nothing():
    realm = Realm(2, spares=0)
    space = realm[0].spaces[1]
    before = (space.version, space.tree)
    realm[0].on_message(MANAGER, SpaceTree(1, "plain", 99, b"no tree"))
    assert (space.version, space.tree) == before
    assert realm[0].counts[LogEvent.TREE_MALFORMED] == 1


def test_an_older_tree_and_a_removal_of_what_is_there_change_nothing():
    realm = Realm(2, spares=0)
    space = realm[0].spaces[1]
    version = space.version
    realm[0].on_message(MANAGER, SpaceTree(1, "plain", version - 1, BspTree.build((0, 0, 1, 1), [realm.id(0)]).pack()))
    realm[0].on_message(MANAGER, CellRemoved(1, version))
    realm.settle()
    assert realm[0].spaces[1] is space
    assert space.version == version
    assert space.tree == realm.mgr.tree_of("plain")


def test_space_known_from_a_neighbour_only_is_dropped():
    realm = Realm(2, spares=0)
    realm[0].core.space(77)
    realm.step(1)
    assert 77 not in realm[0].spaces


@pytest.mark.parametrize("seed", range(12))
def test_the_ground_moves_all_the_time_on_a_hostile_network(seed):
    realm = Realm(4, spares=2, seed=seed)
    crowd(realm)
    rng = realm.rng
    assert rng is not None
    for _ in range(12):
        realm.step(rng.randrange(1, 12))
        tree = realm.mgr.tree_of("plain")
        entity = rng.randrange(1, 7)
        if realm.home(entity) is not None:
            realm.put(entity, rng.uniform(-200, 200), rng.uniform(-200, 200))
        choice = rng.random()
        free = [index for index in range(4) if realm.id(index) not in realm.mgr._spaces["plain"].members]
        busy = [index for index in range(4) if tree.leaf_of(realm.id(index)) is not None]
        if choice < 0.4 and free:
            realm.add(rng.choice(free))
        elif choice < 0.7 and len(busy) > 1:
            realm.retire(rng.choice(busy))
        else:
            nodes = list(tree.nodes())
            if nodes:
                path, node, rect = rng.choice(nodes)
                low, high = rect.clip(tree.bounds).range_of(node.axis)
                realm.change(
                    lambda path=path, low=low, high=high: realm.mgr.move_border("plain", path, (low + high) / 2)
                )
    realm.settle(150)
    realm.check_homes()


def test_ghosts_of_reals_on_their_way_delay_cell_empty():
    """A real leaves for the second with a ghost on the third, which leaves the space. The second has reported that it
    has no more ghosts there; the first, which has sent the real away, may not report that before the real has
    arrived."""
    land = Land(3)
    land.create(1, -5.0)
    land.settle()
    second, third = land[1].me, land[2].me
    land[0].placement.adopt(land.real(1), [third], 1)
    land.block(0, 1)
    assert land[0].offloads.offload(land.real(1), second)
    assert not land[0].spaces[1].neighbours.has(third)
    land[0].former.apps[1] = {third: False}
    land[1].former.apps[1] = {third: True}
    land.step(2)
    assert not land[0].ground._is_clear(1)
    land.blocked.clear()
    land.step(3)
    assert land[0].ground._is_clear(1)
    assert land.home(1) == 1
    assert not land[1].spaces[1].neighbours.has(third), "it is told to end its ghost"


def test_real_that_comes_to_a_newcomer_has_no_ghost_on_a_cell_app_that_left_before():
    """The newcomer is part of the space since the third has left, so no tree that it was sent names the third. It goes
    by the version of the sender's tree."""
    land = Land(3)
    land.create(1, -5.0)
    land.settle()
    second, third = land[1].me, land[2].me
    land[0].placement.adopt(land.real(1), [third], 1)
    land.block(0, 1)
    assert land[0].offloads.offload(land.real(1), second)
    del land[1].spaces[1]  # as of a newcomer
    land.is_forced = True
    land[1].former.apps.clear()
    land.plant("plain", 1, 2, stripes([land[0].me, second]), land[1])
    land.blocked.clear()
    land.step(3)
    assert land.home(1) == 1
    assert land.real(1).ghosts.keys() == {land[0].me}


def test_real_takes_no_ghost_along_that_is_on_a_cell_app_that_left():
    """Where the real goes the third may be unknown, and newer trees be on their way."""
    land = Land(3)
    land.create(1, -5.0)
    land.settle()
    third = land[2].me
    land[0].placement.adopt(land.real(1), [third], 1)
    land[0].former.apps[1] = {third: False}
    assert land[0].offloads.offload(land.real(1), land[1].me)
    assert land[0].ground._is_clear(1)
    land.step(3)
    assert not land[1].spaces[1].neighbours.has(third)
    assert 1 not in land[2].bodies


def test_ghost_on_an_unknown_cell_app_counts_when_a_newer_tree_does_not_name_it():
    """A real has come by a newer tree than that of its new home, with a ghost on the third; before the home gets that
    tree the third has left again."""
    land = Land(3)
    land.create(1, -5.0)
    land.settle()
    third, tree = land[2].me, stripes([land[0].me, land[1].me])
    land.plant("plain", 1, 2, tree, land[0])
    land[0].former.apps[1] = {}  # as if the third had come and gone meanwhile
    land[0].placement.adopt(land.real(1), [third], 3)
    assert land[0].spaces[1].neighbours.has(third)
    land.plant("plain", 1, 4, tree, land[0])
    assert not land[0].ground._is_clear(1)


def test_app_that_has_sent_a_real_into_a_space_is_empty_of_it_when_that_is_confirmed():
    land = Land(hall=1)
    land.create(1, -50.0)
    land.settle()
    land.block(1, 0)
    land.act(1, "teleport", "hall", (0.0, 0.0, 0.0))
    land.step(3)
    assert 1 in land[0].offloads.kept
    land[0].on_message(MANAGER, CellRemoved(2, 7))
    land.step(3)
    assert not [each for each in land.to_manager if isinstance(each, CellEmpty)]
    land.settle()
    assert [each for each in land.to_manager if isinstance(each, CellEmpty)] == [CellEmpty(2, 7)]
