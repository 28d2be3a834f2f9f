"""The console's web server: pages, JSON, and a WebSocket that pushes the picture of the cluster.

    /                    the map                       /play                the page to play in
    /api/snapshot        the picture, once             /api/live            the same, pushed about five times a second
    /api/schema          the schema, for clients       /api/cluster         name, public key, where to log in
    /client/terrazzo.js  the browser client            /static/…            what the pages are made of
    /client/….js         its other modules

The server owns no state: it reads a `ConsoleApp` that is driven on the same event loop. The picture is made and encoded
once for each moment of the console's clock, however many pages get it.

Access is checked before anything else (`guard.py`). A page that sends anything on `/api/live` is disconnected. A
connection that does not read delays only itself; it gets the latest picture when it is ready for one, and is cut off
after SEND_S.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web

from terrazzo.console.consoleapp import ConsoleApp
from terrazzo.console.guard import Guard, Handler
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame
from terrazzo.runtime.gate import vouch_for
from terrazzo.schema.export import export_schema

PUSH_S = 0.2
LOOKERS_MAX = 100
CLOSE_S = 2.0
SEND_S = 10.0
"""A page that has not read a picture for so long is cut off, so that its connection does not count any longer."""
PATH_MAX = 200
"""Characters of a path: the console has none that is longer, and no file system takes a longer name of a file."""

STATIC = Path(__file__).parent / "static"
PACKED_CLIENT = Path(__file__).parent / "client"
"""An installed package has the browser client here; a clone of the repository has it in `clients/web`."""
CLIENT_ENTRY = "terrazzo.js"
"""The module that pages import; it imports the others by relative paths."""

_HEADERS = {
    "Cache-Control": "no-cache",  # the pages belong to this version of the cluster: never an older copy
    "Content-Security-Policy": "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True)
class ClusterInfo:
    """What the pages need beyond the picture."""

    name: str
    """The name of the game, for display."""
    game: LoadedGame
    public_key: str
    """The key by which clients recognise the servers of the cluster; hex."""
    login_url: Callable[[], str]
    """ws://host:port/path of a LoginApp, empty while there is none. Where its host means "this machine", pages put
    the one that they came from."""

    def as_plain(self) -> dict[str, object]:
        """For the pages."""
        policy = self.game.policy
        return {
            "name": self.name,
            "player": self.game.player.name,
            "area_radius_m": policy.area_radius_m,
            "top_speed": policy.top_speed,
            "public_key": self.public_key,
            "login_url": self.login_url(),
        }


def find_web_client() -> Path:
    """The folder of the browser client's modules: PACKED_CLIENT if it exists, otherwise `clients/web`."""
    in_repository = Path(__file__).parents[3] / "clients" / "web"
    for folder in (PACKED_CLIENT, in_repository):
        if (folder / CLIENT_ENTRY).is_file():
            return folder
    raise UsageError(
        f"the browser client {CLIENT_ENTRY} is in neither {PACKED_CLIENT} nor {in_repository}: install Terrazzo again"
    )


def make_web_app(console: ConsoleApp, *, cluster_info: ClusterInfo, guard: Guard | None = None) -> web.Application:
    """The application, for a runner. Without a guard the application asks for no token, and answers to numeric
    addresses and `localhost`."""
    schema = export_schema(cluster_info.game.schema)
    look = _Look(console)
    app = web.Application(middlewares=[(guard or Guard()).middleware, _with_headers])
    app.router.add_get("/", _file(STATIC / "map.html"))
    app.router.add_get("/play", _file(STATIC / "play.html"))
    for module in find_web_client().glob("*.js"):
        app.router.add_get(f"/client/{module.name}", _file(module))
    app.router.add_get("/api/snapshot", look.on_snapshot)
    app.router.add_get("/api/live", look.on_live)
    app.router.add_get("/api/schema", _json(lambda: schema))
    app.router.add_get("/api/cluster", _json(cluster_info.as_plain))
    app.router.add_static("/static", STATIC)
    app.on_shutdown.append(look.on_shutdown)
    return app


class _Look:
    """The handlers of all pages that show the console."""

    def __init__(self, console: ConsoleApp) -> None:
        self._console = console
        self._made_at: float | None = None
        self._json = b""
        self._sockets: dict[web.WebSocketResponse, None] = {}

    async def on_snapshot(self, _request: web.Request) -> web.StreamResponse:
        """GET /api/snapshot."""
        return web.Response(body=self._snapshot(), content_type="application/json")

    async def on_live(self, request: web.Request) -> web.StreamResponse:
        """GET /api/live, until the page goes."""
        if len(self._sockets) >= LOOKERS_MAX:
            raise web.HTTPServiceUnavailable(text="Too many pages look at this console: close some, then reload.")
        ws = web.WebSocketResponse(max_msg_size=1024, timeout=CLOSE_S, heartbeat=20.0)
        await ws.prepare(request)
        vouch_for(request)
        self._sockets[ws] = None
        try:
            await self._push(ws)
        except ConnectionError:
            pass  # the page was closed while something was under way
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()  # a graceful end would wait for the page to read
        finally:
            del self._sockets[ws]
        return ws

    async def _push(self, ws: web.WebSocketResponse) -> None:
        while not ws.closed:
            async with asyncio.timeout(SEND_S):
                await ws.send_str(self._snapshot().decode())
            try:
                message = await ws.receive(timeout=PUSH_S)
            except TimeoutError:
                continue
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                await ws.close(code=WSCloseCode.POLICY_VIOLATION, message=b"nothing is to be said here")
                return

    async def on_shutdown(self, _app: web.Application) -> None:
        """Asks all pages to connect again later."""
        for ws in list(self._sockets):
            await ws.close(code=WSCloseCode.GOING_AWAY, message=b"the console stops")

    def _snapshot(self) -> bytes:
        now = self._console.host.now
        if self._made_at != now:
            self._json = msgspec.json.encode(self._console.snapshot())
            self._made_at = now
        return self._json


@web.middleware
async def _with_headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    if len(request.rel_url.raw_path) > PATH_MAX:
        raise web.HTTPNotFound
    response = await handler(request)
    if not response.prepared:
        response.headers.update(_HEADERS)
    return response


def _file(path: Path) -> Handler:
    async def give(_request: web.Request) -> web.StreamResponse:
        return web.FileResponse(path)

    return give


def _json(made: Callable[[], object]) -> Handler:
    async def give(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=msgspec.json.encode(made()), content_type="application/json")

    return give
