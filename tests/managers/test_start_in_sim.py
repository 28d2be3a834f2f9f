"""The managers over real links: a cluster with apps that start in any order becomes ready and places its players."""

from __future__ import annotations

import pytest

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.game import Space
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.sim.world import Process, World
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cellmgr import SpacesReady
from terrazzo.wire.pairs.basemgr_base import BaseAppReady, Bootstrap, CreateProxy, ProxyCreated
from terrazzo.wire.pairs.cellmgr_cell import CellAppReady, CellReady, SpaceTree
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyPlaced
from terrazzo.wire.requests import Failure, Question

MANAGERS = [AppKind.CELL_APP_MGR, AppKind.BASE_APP_MGR]
SPACES = [Space("plaza"), Space("hall")]


WANTS = {
    AppKind.CELL_APP: [AppKind.CELL_APP_MGR],
    AppKind.BASE_APP: [AppKind.BASE_APP_MGR, AppKind.CELL_APP_MGR],
    AppKind.DB_APP: [AppKind.BASE_APP_MGR],
}


class Member(ClusterApp):
    """The least that each of the other apps does at the start: it joins its managers and reports that it is ready."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.id, process)
        self.heard: list[Message] = []
        self.answers_of_mgr: list[Message | str] = []
        self._is_begun = False
        self.on(SpaceTree, lambda source, tree: self.send(source, CellReady(tree.space, tree.version)))
        self.on(SpacesReady, lambda _, message: self.heard.append(message))
        self.on(Bootstrap, lambda _, message: self.heard.append(message))
        self.answers(CreateProxy, self._on_create)

    def on_tick(self) -> None:
        super().on_tick()
        if not self._is_begun:
            self._is_begun = True
            for kind in WANTS[self.me.kind]:
                self.host.join(AppId(kind, 0, ANY_INCARNATION))

    def on_link_up(self, peer: AppId) -> None:
        if self.me.kind is AppKind.CELL_APP:
            self.send(peer, CellAppReady())
        elif self.me.kind is AppKind.BASE_APP and peer.kind is AppKind.BASE_APP_MGR:
            self.send(peer, BaseAppReady("127.0.0.1", 1, 2))

    def place(self) -> None:
        mgr = AppId(AppKind.BASE_APP_MGR, 0, 1)
        self.requests.ask(
            mgr, PlaceProxy(1, 1, b"", 4711), timeout_s=10, then=self.answers_of_mgr.append, failed=self._on_failure
        )

    def _on_failure(self, _failure: Failure, why: str) -> None:
        self.answers_of_mgr.append(why)

    def _on_create(self, question: Question) -> None:
        self.requests.answer(question, ProxyCreated(self.me.index, b"key"))


def member(world: World, kind: AppKind, index: int) -> Member:
    app = world.add(kind, index, Member, tick_s=0.1).app
    assert isinstance(app, Member)
    return app


@pytest.mark.parametrize("seed", range(12))
def test_a_cluster_starts_in_any_order(seed):
    world = World(seed)
    rng = world.rng("order")
    members: dict[tuple[AppKind, int], Member] = {}

    def start(kind: AppKind, index: int) -> None:
        if kind is AppKind.CELL_APP_MGR:
            world.add(kind, index, lambda process: CellAppMgr(process.id, process, SPACES, 3), tick_s=0.1)
        elif kind is AppKind.BASE_APP_MGR:
            world.add(kind, index, lambda process: BaseAppMgr(process.id, process), tick_s=0.1)
        else:
            members[kind, index] = member(world, kind, index)

    counts = {AppKind.CELL_APP: 3, AppKind.BASE_APP: 2}
    slots = [(kind, index) for kind in [*WANTS, *MANAGERS] for index in range(counts.get(kind, 1))]
    for slot in slots:
        world.clock.after(rng.uniform(0, 4), start, *slot)
    world.clock.run_until(10)

    bases = [members[AppKind.BASE_APP, index] for index in range(2)]
    assert all(base.heard.count(SpacesReady(2)) == 1 for base in bases)
    assert sum(base.heard.count(Bootstrap()) for base in bases) == 1
    database = members[AppKind.DB_APP, 0]
    for _ in range(4):
        database.place()
    world.clock.run_until(12)
    placed = [answer for answer in database.answers_of_mgr if isinstance(answer, ProxyPlaced)]
    assert sorted(answer.index for answer in placed) == [0, 0, 1, 1]


def test_managers_find_each_other_when_one_is_much_later():
    world = World(1)
    world.add(AppKind.CELL_APP_MGR, 0, lambda process: CellAppMgr(process.id, process, SPACES, 1), tick_s=0.1)
    member(world, AppKind.CELL_APP, 0)
    world.clock.run_until(35)  # joining was given up several times
    mgr = world.add(AppKind.BASE_APP_MGR, 0, lambda process: BaseAppMgr(process.id, process), tick_s=0.1).app
    assert isinstance(mgr, BaseAppMgr)
    world.clock.run_until(40)
    assert mgr.view()["are_spaces_ready"]
