"""Access to the console: names, origins, and a token.

    every request        Host is a numeric address, "localhost" or a name of the settings; Origin, if given, is the same
    /play and its files  no more than that: players may use them, and nothing in them is secret
    all else             with a token, where the console listens beyond this machine

A name that is not known is refused because a web page elsewhere can make a name of its own point to this machine (DNS
rebinding), and a browser would then let that page read everything. A numeric address cannot be made to point elsewhere.

    GET /?token=…  ──▶  a cookie, and the same page without the token in its address
    Cookie, or Authorization: Bearer …  ──▶  let in
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from hmac import compare_digest
from urllib.parse import urlsplit

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

PUBLIC = ("/play", "/client/", "/static/", "/api/schema", "/api/cluster")
COOKIE = "terrazzo_console"

_NO_TOKEN = (
    "This console shows its map only with its token: open the address that `terrazzo run` has printed. "
    "The token is also in the file console.token of the data folder."
)


class Guard:
    """Looks at every request; `token` is empty where none is needed."""

    def __init__(self, *, token: str = "", names: Iterable[str] = ()) -> None:
        self._token = token
        self._names = {"localhost", *(_plain_name(each) for each in names)}

        @web.middleware
        async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._check(request, handler)

        self.middleware = middleware

    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._check_host(request)
        _check_origin(request)
        if not self._token or request.path.startswith(PUBLIC):
            return await handler(request)
        if self._is_token(request.query.get("token", "")):
            self._give_cookie(request)
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not self._is_token(request.cookies.get(_cookie_name(request), "")) and not self._is_token(bearer):
            raise web.HTTPForbidden(text=_NO_TOKEN)
        return await handler(request)

    def _check_host(self, request: web.Request) -> None:
        name = _host_name(request.host) if "Host" in request.headers else ""
        if name not in self._names and not _is_numeric(name):
            raise web.HTTPForbidden(
                text="This console does not answer to that name: use its numeric address, or add the name to "
                "`names` of [console] in the settings."
            )

    def _is_token(self, given: str) -> bool:
        """Whatever bytes a header held: those that are no UTF-8 have been made surrogates."""
        return compare_digest(given.encode(errors="surrogatepass"), self._token.encode())

    def _give_cookie(self, request: web.Request) -> None:
        answer = web.HTTPSeeOther(request.path)
        answer.set_cookie(_cookie_name(request), self._token, httponly=True, samesite="Strict", path="/")
        raise answer


def _check_origin(request: web.Request) -> None:
    """Browsers let any page open a WebSocket anywhere, and send the origin of the page with it."""
    origin = request.headers.get("Origin")
    if origin is not None and _site(origin) != request.host.lower():
        raise web.HTTPForbidden(text="This page belongs to another site: open the console's own.")


def _site(origin: str) -> str:
    """Name and port in an Origin header; empty if it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _cookie_name(request: web.Request) -> str:
    """Has the port in it: cookies are shared by all ports of a host, and two clusters may run on one machine."""
    return f"{COOKIE}_{request.url.port}"


def _host_name(host: str) -> str:
    """The name or address in a Host header, without the port; empty where the header holds something else."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port  # a port that is no port raises
    except ValueError:
        return ""
    return _plain_name(name) if parts.netloc == host and "@" not in host else ""


def _plain_name(name: str) -> str:
    return name.strip().rstrip(".").lower()


def _is_numeric(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
