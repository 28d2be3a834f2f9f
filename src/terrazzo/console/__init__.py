"""The console: the web page with the map of the world, and the page to play in.

consoleapp.py    asks every app of the cluster what it sees, a few times a second      (pure, as every app)
snapshot.py      puts the answers together: one picture of the whole cluster            (pure)
server.py        shows it: pages, JSON and a WebSocket that pushes                      (aiohttp)
static/          the pages: plain HTML, CSS and ES modules; no build step, nothing from elsewhere
"""

from __future__ import annotations

from terrazzo.console.consoleapp import ConsoleApp
from terrazzo.console.server import ClusterInfo, find_web_client, make_web_app

__all__ = ["ClusterInfo", "ConsoleApp", "find_web_client", "make_web_app"]
