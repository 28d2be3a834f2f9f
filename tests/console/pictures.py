"""A console on a bench: a clock that is set by hand, apps that answer by hand, and views as the apps make them."""

from __future__ import annotations

import msgspec

from terrazzo.console.consoleapp import ConsoleApp
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.console_any import View, WantView
from tests.fake_host import FakeHost

CONSOLE = AppId(AppKind.CONSOLE, 0, 1)
CELL_APP_MGR = AppId(AppKind.CELL_APP_MGR, 0, 1)
BASE_APP_MGR = AppId(AppKind.BASE_APP_MGR, 0, 1)
DB_APP = AppId(AppKind.DB_APP, 0, 1)
LOGIN_APP = AppId(AppKind.LOGIN_APP, 0, 1)
BASE_0 = AppId(AppKind.BASE_APP, 0, 1)
CELL_0 = AppId(AppKind.CELL_APP, 0, 1)
CELL_1 = AppId(AppKind.CELL_APP, 1, 1)

PLAZA_CELLS = [
    {"cell": 1, "app": str(CELL_0), "rect": [-10, -10, 0, 10], "load": 0.5, "reals": 9, "ghosts": 9, "is_lost": False},
    {"cell": 2, "app": str(CELL_1), "rect": [0, -10, 10, 10], "load": None, "reals": 8, "ghosts": 8, "is_lost": False},
]
PLAZA = {"id": 1, "name": "plaza", "bounds": [-10, -10, 10, 10], "version": 1, "tree": {}, "cells": PLAZA_CELLS}
VIEWS: dict[AppId, dict] = {
    CELL_APP_MGR: {
        "state": "running",
        "progress": "all cells are there",
        "cells_wanted": 2,
        "apps": [],
        "spaces": [PLAZA],
    },
    CELL_0: {
        "app": str(CELL_0),
        "tick": 7,
        "load": 0.25,
        "spaces": {"plaza": [[5, "Avatar", True, -1.0, 2.0], [6, "Creature", False, 3.0, 4.123456]]},
    },
    CELL_1: {"app": str(CELL_1), "tick": 7, "load": 0.0, "spaces": {"plaza": [[6, "Creature", True, 3.0, 4.123456]]}},
    BASE_APP_MGR: {"placed": 1, "apps": []},
    BASE_0: {"app": str(BASE_0), "load": 0.125, "clients": 3, "bases": {"Avatar": 3}},
    DB_APP: {"saved": 4},
    LOGIN_APP: {"let_in": 3},
}


class Bench:
    """A console of a cluster with two CellApps and one of each other app."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.console = ConsoleApp(CONSOLE, self.host, cells=(0, 1), bases=(0,))

    def tick(self, seconds: float = 0.1) -> dict[AppId, list[int]]:
        """Lets time pass; returns the numbers of the questions that leave, by receiver."""
        self.host.now += seconds
        self.console.on_tick()
        asked: dict[AppId, list[int]] = {}
        for peer, bundles in self.console.outbox.drain():
            for item in (item for bundle in bundles for item in REGISTRY.decode_bundle(bundle)):
                assert isinstance(item, Request)
                assert isinstance(REGISTRY.decode_nested(item.item), WantView)
                asked.setdefault(peer, []).append(item.number)
        return asked

    def answer(self, peer: AppId, number: int, message: Message) -> None:
        self.console.on_message(peer, Reply(number, REGISTRY.encode(message)))

    def show(self, peer: AppId, number: int, view: object) -> None:
        self.answer(peer, number, View(msgspec.json.encode(view)))

    def refuse(self, peer: AppId, number: int) -> None:
        self.console.on_message(peer, RequestRefused(number, "not now"))


def whole_cluster() -> Bench:
    """Every app is there and has answered once."""
    bench = Bench()
    bench.tick()
    for peer in VIEWS:
        bench.console.on_link_up(peer)
    for peer, numbers in bench.tick().items():
        bench.show(peer, numbers[0], VIEWS[peer])
    return bench
