"""One picture of the whole cluster, put together from the views of all apps.

    CellAppMgr   spaces, their bounds, their cells and loads        ┐
    CellApps     bodies: real or ghost, and where; what they sent   ├──▶  {spaces, apps, players, bandwidth}
    BaseApps     clients                                            ┘
    all          the load of their process, and the plain facts of their views, for the list of apps

The picture:

    {"at", "state", "progress",                      when, and how far the start of the spaces has come
     "players",                                      clients that are connected
     "spaces": [{"id", "name", "bounds",
                 "cells":    [{"cell", "app", "rect", "load" (or None), "is_load_estimated",
                              "reals", "ghosts", "is_lost"} …],
                 "entities": [{"id", "type", "x", "z", "real", "app"} …]} …],
     "apps": [{"app", "kind", "index", "is_up", "age_s" (or None), "load" (or None), "facts"} …],
     "bandwidth": [{"type", "what", "to", "messages", "bytes"} …],    of all CellApps (`cell/core/account.py`)
     "refusals": [{"app", "door", "reason", "count", "sentence"} …]}  what clients were refused, most first

A rectangle is [least x, least z, greatest x, greatest z]. An entity is listed once for its real and once for each
ghost, with the app that has it. The views were not made at the same moment: while an entity moves to another CellApp,
the picture may have its real twice, or not at all. That there is exactly one real is checked by `sim`, not here.

The views come from other processes: what a picture needs of them is read into the structs below, and a view that does
not fit is refused whole (`ConsoleApp` counts it).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import msgspec

from terrazzo.wire.ids import AppId, AppKind

Rectangle = tuple[float, float, float, float]


class CellSeen(msgspec.Struct, frozen=True):
    """A cell, as CellAppMgr has it."""

    cell: int
    app: str
    rect: Rectangle
    load: float | None = None
    is_load_estimated: bool = False
    """The CellApp has several cells; its measured load is divided among them by the number of reals."""
    reals: int = 0
    ghosts: int = 0
    is_lost: bool = False


class SpaceSeen(msgspec.Struct, frozen=True):
    """A space, as CellAppMgr has it."""

    id: int
    name: str
    bounds: Rectangle
    cells: list[CellSeen]


class CellAppMgrView(msgspec.Struct, frozen=True):
    """What a picture needs of CellAppMgr."""

    spaces: list[SpaceSeen]
    state: str = ""
    progress: str = ""


class BodySeen(msgspec.Struct, frozen=True, array_like=True):
    """A real or a ghost, as its CellApp has it."""

    id: int
    type: str
    real: bool
    x: float
    z: float


class LineSeen(msgspec.Struct, frozen=True):
    """A line of a CellApp's bandwidth account."""

    type: str
    what: str
    to: str
    messages: int
    bytes: int


class CellAppView(msgspec.Struct, frozen=True):
    """What a picture needs of a CellApp: the bodies by the name of their space."""

    spaces: dict[str, list[BodySeen]]
    bandwidth: list[LineSeen] = []
    """Since the app started."""


class BaseAppView(msgspec.Struct, frozen=True):
    """What a picture needs of a BaseApp."""

    clients: int


class RefusalSeen(msgspec.Struct, frozen=True):
    """What a door has refused to clients, for one reason (`wire.sentences`)."""

    door: str
    reason: str
    count: int
    sentence: str


class _Refusing(msgspec.Struct, frozen=True):
    """What is in the view of every app."""

    refused_clients: list[RefusalSeen] = []


class OtherView(msgspec.Struct, frozen=True):
    """Any other app has nothing but facts."""


AppView = CellAppMgrView | CellAppView | BaseAppView | OtherView
V = TypeVar("V", CellAppMgrView, CellAppView, BaseAppView)

SHAPES: dict[AppKind, type[AppView]] = {
    AppKind.CELL_APP_MGR: CellAppMgrView,
    AppKind.CELL_APP: CellAppView,
    AppKind.BASE_APP: BaseAppView,
}

_NO_FACTS = frozenset({"app", "apps", "spaces", "load", "tick", "state", "progress", "bandwidth", "refused_clients"})
"""What of a view is shown elsewhere in the picture, or too large for a list."""


class ReceivedView(msgspec.Struct, frozen=True):
    """The latest view of an app."""

    at: float
    shape: AppView
    load: float | None
    facts: dict[str, Any]
    refused: list[RefusalSeen] = []


def read_view(kind: AppKind, json: bytes, now: float) -> ReceivedView:
    """A view off the wire; raises msgspec.DecodeError (ValidationError included) when it is not one."""
    plain = msgspec.json.decode(json, type=dict[str, Any])
    shape = msgspec.convert(plain, SHAPES.get(kind, OtherView))
    load = msgspec.convert(plain.get("load"), float | None)
    refused = msgspec.convert(plain, _Refusing).refused_clients
    return ReceivedView(
        now, shape, load, {name: value for name, value in plain.items() if name not in _NO_FACTS}, refused
    )


class Watched(Protocol):
    """An app as the picture needs it."""

    @property
    def name(self) -> AppId:
        """The life that is linked, or was last."""

    @property
    def is_up(self) -> bool:
        """Whether there is a link with it."""

    @property
    def view(self) -> ReceivedView | None:
        """Its latest view."""


def make_snapshot(apps: Iterable[Watched], now: float, own: Iterable[RefusalSeen] = ()) -> dict[str, Any]:
    """The picture, as plain data; `own` is what the console itself has refused."""
    apps = list(apps)
    mgr = next((shape for _, shape in _shapes(apps, CellAppMgrView)), None)
    bodies = {str(app.name): shape for app, shape in _shapes(apps, CellAppView) if app.is_up}
    return {
        "at": now,
        "state": mgr.state if mgr else "",
        "progress": mgr.progress if mgr else "",
        "players": sum(shape.clients for app, shape in _shapes(apps, BaseAppView) if app.is_up),
        "spaces": [_space(space, bodies) for space in mgr.spaces] if mgr else [],
        "apps": [_app(app, now) for app in apps],
        "bandwidth": _bandwidth(shape for _, shape in _shapes(apps, CellAppView)),
        "refusals": _refusals(apps, own),
    }


def _shapes(apps: Iterable[Watched], kind: type[V]) -> list[tuple[Watched, V]]:
    return [(app, app.view.shape) for app in apps if app.view is not None and isinstance(app.view.shape, kind)]


def _space(space: SpaceSeen, bodies: dict[str, CellAppView]) -> dict[str, Any]:
    here = {app: view.spaces.get(space.name, []) for app, view in bodies.items()}
    return {
        "id": space.id,
        "name": space.name,
        "bounds": space.bounds,
        "cells": [_cell(cell, here.get(cell.app)) for cell in space.cells],
        "entities": [
            {
                "id": body.id,
                "type": body.type,
                "x": round(body.x, 2),
                "z": round(body.z, 2),
                "real": body.real,
                "app": app,
            }
            for app, bodies_there in here.items()
            for body in bodies_there
        ],
    }


def _cell(cell: CellSeen, bodies: list[BodySeen] | None) -> dict[str, Any]:
    """The counts are those of the entities in the same picture; CellAppMgr's own are older, and used without these."""
    plain: dict[str, Any] = msgspec.structs.asdict(cell)
    if bodies is not None:
        reals = sum(body.real for body in bodies)
        plain |= {"reals": reals, "ghosts": len(bodies) - reals}
    return plain


def _bandwidth(views: Iterable[CellAppView]) -> list[dict[str, Any]]:
    """One account of all; what an app that is gone had sent is in it as long as its view is kept."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for line in (line for view in views for line in view.bandwidth):
        key = (line.type, line.what, line.to)
        messages, size = sums.get(key, (0, 0))
        sums[key] = (messages + line.messages, size + line.bytes)
    return [
        {"type": type, "what": what, "to": to, "messages": messages, "bytes": size}
        for (type, what, to), (messages, size) in sorted(sums.items(), key=lambda each: (-each[1][1], each[0]))
    ]


def _refusals(apps: Iterable[Watched], own: Iterable[RefusalSeen]) -> list[dict[str, Any]]:
    """What every door has refused, most first; since the app started."""
    lines = [(str(app.name), each) for app in apps if app.view is not None for each in app.view.refused]
    lines += [("console", each) for each in own]
    ranked = sorted(lines, key=lambda line: (-line[1].count, line[0], line[1].door, line[1].reason))
    return [{"app": app, **msgspec.structs.asdict(each)} for app, each in ranked]


def _app(app: Watched, now: float) -> dict[str, Any]:
    return {
        "app": str(app.name),
        "kind": app.name.kind.name.lower(),
        "index": app.name.index,
        "is_up": app.is_up,
        "age_s": round(now - app.view.at, 3) if app.view else None,
        "load": app.view.load if app.is_up and app.view else None,
        "facts": app.view.facts if app.view else {},
    }
