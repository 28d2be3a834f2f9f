"""The views of the real apps are what the console reads: shapes that drift apart are found here, not on the map."""

import msgspec

from terrazzo.cell.cellapp import CellApp
from terrazzo.console.snapshot import BodySeen, CellAppMgrView, CellAppView, read_view
from terrazzo.game import load_game
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.schema.state import State
from terrazzo.wire.common import Request
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import CreateReal
from terrazzo.wire.pairs.cellmgr_cell import CellAppReady, CellReady, SpaceTree
from tests.console.pictures import BASE_0, BASE_APP_MGR, CELL_0, CELL_APP_MGR
from tests.console.test_console_server import ROOT
from tests.fake_host import FakeHost

GAME = load_game(ROOT / "examples" / "plaza")
AVATAR = GAME.schema["Avatar"]


def seen(app):
    return read_view(app.me.kind, msgspec.json.encode(app.view()), 0.0)


def said(app):
    return [item for _, bundles in app.outbox.drain() for each in bundles for item in REGISTRY.decode_bundle(each)]


def test_a_manager_and_its_cell():
    manager = CellAppMgr(CELL_APP_MGR, FakeHost(), GAME.policy.spaces, 1)
    cell = CellApp(CELL_0, FakeHost(), GAME)
    before = seen(manager).shape
    assert isinstance(before, CellAppMgrView)
    assert before.progress, "it says what it waits for"

    manager.on_link_up(CELL_0)
    manager.on_message(CELL_0, CellAppReady())
    manager.on_tick()
    for tree in [item for item in said(manager) if isinstance(item, SpaceTree)]:
        cell.on_message(CELL_APP_MGR, tree)
        manager.on_message(CELL_0, CellReady(tree.space, tree.version))
    after = seen(manager).shape
    assert isinstance(after, CellAppMgrView)
    assert [space.name for space in after.spaces] == ["plaza", "hall"]
    [plaza_cell] = after.spaces[0].cells
    assert (plaza_cell.app, plaza_cell.rect) == (str(CELL_0), GAME.policy.spaces[0].bounds)

    born = CreateReal(5, AVATAR.type_id, after.spaces[0].id, (3.0, 0.0, 4.0), (0.0, 0.0, 0.0), cell_state(), 0, 1)
    cell.on_message(BASE_0, Request(1, REGISTRY.encode(born)))
    cell.on_tick()
    view = seen(cell).shape
    assert isinstance(view, CellAppView)
    assert view.spaces["plaza"] == [BodySeen(5, "Avatar", True, 3.0, 4.0)]


def cell_state():
    return State(AVATAR.cell_layout).encode()


def test_the_other_manager():
    manager = BaseAppMgr(AppId(*BASE_APP_MGR), FakeHost())
    assert seen(manager).facts["placed"] == 0
