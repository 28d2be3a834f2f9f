"""The console's web server: every route, the pushed pictures, and the connections that it closes."""

import asyncio
import json
import re
import shutil
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urljoin

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from terrazzo.console import server
from terrazzo.console.server import STATIC, ClusterInfo, find_web_client, make_web_app
from terrazzo.errors import UsageError
from terrazzo.game import load_game
from tests.console.pictures import DB_APP, whole_cluster
from tests.runtime.support import on_both_loops, play

ROOT = Path(__file__).parents[2]
GAME = load_game(ROOT / "examples" / "plaza")
KEY = bytes(range(32)).hex()
PAGES = sorted(path for path in STATIC.iterdir() if path.suffix in (".html", ".js", ".css", ".svg"))


@asynccontextmanager
async def serving(bench, **info):
    """The pages of a console at a free port."""
    about = {"name": "plaza", "game": GAME, "public_key": KEY, "login_url": lambda: "ws://127.0.0.1:1/play", **info}
    runner = web.AppRunner(make_web_app(bench.console, cluster_info=ClusterInfo(**about)), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as http:
            yield http, runner
    finally:
        await runner.cleanup()


def look(main):
    play("asyncio", main())


def test_every_page_is_served_with_all_that_it_asks_for():
    async def main():
        async with serving(whole_cluster()) as (http, _):
            for path in ("/", "/play", *(f"/static/{page.name}" for page in PAGES)):
                async with http.get(path) as answer:
                    assert answer.status == 200, path
                    assert await answer.text(), path
                    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
                    assert answer.headers["Cache-Control"] == "no-cache"

    look(main)


@pytest.mark.parametrize("is_packed", [False, True], ids=["clone", "installed"])
def test_play_page_loads_every_module_of_the_browser_client(is_packed, monkeypatch, tmp_path):
    """The test follows the imports of the play page as a browser does; a browser takes no module of another type."""
    client = find_web_client()
    if is_packed:
        monkeypatch.setattr(server, "PACKED_CLIENT", shutil.copytree(client, tmp_path / "client"))

    async def main():
        async with serving(whole_cluster()) as (http, _):
            loaded, waiting = set(), ["/static/play.js"]
            while waiting:
                path = waiting.pop()
                loaded.add(path)
                async with http.get(path) as answer:
                    assert answer.status == 200, path
                    assert answer.content_type in ("text/javascript", "application/javascript"), path
                    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
                    assert answer.headers["Cache-Control"] == "no-cache"
                    imported = re.findall(r'^(?:import|export|}) .*?"([^"]+)";$', await answer.text(), re.MULTILINE)
                waiting += {urljoin(path, each) for each in imported} - loaded - set(waiting)
            modules = {path for path in loaded if path.startswith("/client/")}
            assert modules == {f"/client/{module.name}" for module in client.glob("*.js")}

    look(main)


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/",
        "/api/",
        "/client/",
        "/client/server.py",
        "/client/../server.py",
        "/client/%2e%2e/server.py",
    ],
)
def test_nothing_else_is_served(path):
    async def main():
        async with serving(whole_cluster()) as (http, _), http.get(path) as answer:
            assert answer.status in (403, 404)

    look(main)


def test_the_snapshot_is_what_the_console_has():
    async def main():
        bench = whole_cluster()
        async with serving(bench) as (http, _), http.get("/api/snapshot") as answer:
            assert answer.content_type == "application/json"
            assert await answer.json() == json.loads(json.dumps(bench.console.snapshot()))

    look(main)


def test_the_schema_is_the_games():
    async def main():
        async with serving(whole_cluster()) as (http, _), http.get("/api/schema") as answer:
            schema = await answer.json()
            assert schema["format"] == 1
            assert "Avatar" in [each["name"] for each in schema["entities"]]

    look(main)


def test_cluster_answer_has_the_login_url_as_soon_as_it_is_set():
    async def main():
        urls = [""]
        async with serving(whole_cluster(), login_url=lambda: urls[0]) as (http, _):
            async with http.get("/api/cluster") as answer:
                assert (await answer.json())["login_url"] == ""
            urls[0] = "ws://127.0.0.1:7/play"
            async with http.get("/api/cluster") as answer:
                cluster = await answer.json()
        assert cluster["login_url"] == "ws://127.0.0.1:7/play"
        assert (cluster["name"], cluster["player"], cluster["public_key"]) == ("plaza", "Avatar", KEY)
        assert (cluster["area_radius_m"], cluster["top_speed"]) == (GAME.policy.area_radius_m, GAME.policy.top_speed)

    look(main)


@on_both_loops
def test_live_pushes_the_picture_of_the_moment(loop):
    async def main():
        bench = whole_cluster()
        async with serving(bench) as (http, _), http.ws_connect("/api/live") as ws:
            first = json.loads(await ws.receive_str())
            assert first["players"] == 3
            [number] = bench.tick(0.3)[DB_APP]
            bench.show(DB_APP, number, {"saved": 99})
            while not any(app["facts"] == {"saved": 99} for app in json.loads(await ws.receive_str())["apps"]):
                pass

    play(loop, main())


def test_snapshot_is_made_once_for_all_pages_of_a_moment(monkeypatch):
    async def main():
        bench = whole_cluster()
        made = []
        snapshot = bench.console.snapshot

        def count():
            made.append(bench.host.now)
            return snapshot()

        monkeypatch.setattr(bench.console, "snapshot", count)
        async with (
            serving(bench) as (http, _),
            http.ws_connect("/api/live") as one,
            http.ws_connect("/api/live") as two,
        ):
            assert await one.receive_str() == await two.receive_str()
            assert len(made) == 1
            bench.host.now += 0.1
            assert json.loads(await one.receive_str())["at"] == bench.host.now
            assert len(made) == 2

    look(main)


def test_page_that_sends_is_disconnected():
    async def main():
        async with serving(whole_cluster()) as (http, _), http.ws_connect("/api/live") as ws:
            await ws.send_str("hello")
            while (await ws.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
            assert ws.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION

    look(main)


def test_a_page_of_another_site_is_refused():
    async def main():
        async with serving(whole_cluster()) as (http, _):
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await http.ws_connect("/api/live", origin="http://elsewhere.example")
            own = str(http._base_url).rstrip("/")
            async with http.ws_connect("/api/live", origin=own) as ws:
                assert await ws.receive_str()

    look(main)


def test_only_so_many_may_look(monkeypatch):
    async def main():
        monkeypatch.setattr(server, "LOOKERS_MAX", 1)
        async with serving(whole_cluster()) as (http, _):
            async with http.ws_connect("/api/live") as ws:
                await ws.receive_str()
                with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                    await http.ws_connect("/api/live")
            for _ in range(100):  # the place is free again as soon as the server has noticed
                try:
                    async with http.ws_connect("/api/live") as ws:
                        assert await ws.receive_str()
                    return
                except aiohttp.WSServerHandshakeError:
                    continue
            raise AssertionError("the place was never given free")

    look(main)


def test_page_that_does_not_read_is_cut_off_and_makes_room(monkeypatch):
    async def main():
        monkeypatch.setattr(server, "SEND_S", 0.01)
        monkeypatch.setattr(server, "LOOKERS_MAX", 1)
        async with serving(whole_cluster()) as (client, _):
            send = web.WebSocketResponse.send_str
            stuck = asyncio.Event()

            async def never(ws, text, **options):
                stuck.set()
                await asyncio.Event().wait()

            monkeypatch.setattr(web.WebSocketResponse, "send_str", never)
            deaf = await client.ws_connect("/api/live")
            await stuck.wait()
            assert (await deaf.receive()).type is not WSMsgType.TEXT
            monkeypatch.setattr(web.WebSocketResponse, "send_str", send)
            other = await client.ws_connect("/api/live")
            assert (await other.receive()).type is WSMsgType.TEXT
            await other.close()

    look(main)


def test_stopping_server_closes_its_pages_as_going_away():
    async def main():
        async with serving(whole_cluster()) as (http, runner), http.ws_connect("/api/live") as ws:
            await ws.receive_str()
            ending = asyncio.create_task(runner.cleanup())
            while (await ws.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
            assert ws.close_code == aiohttp.WSCloseCode.GOING_AWAY
            await ending

    look(main)


def test_browser_client_is_found_in_the_package_or_the_clone_or_missed_in_one_sentence(monkeypatch, tmp_path):
    assert find_web_client() == ROOT / "clients" / "web"
    packed = tmp_path / "terrazzo.js"
    packed.write_text("// packed")
    monkeypatch.setattr(server, "PACKED_CLIENT", tmp_path)
    assert find_web_client() == tmp_path, "the installed client goes before that of a clone"
    packed.unlink()
    monkeypatch.setattr(server, "__file__", str(tmp_path / "a" / "b" / "c" / "server.py"))
    with pytest.raises(UsageError, match="install Terrazzo again"):
        find_web_client()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_needs_anything_from_elsewhere(page):
    """A cluster without the internet has its console, too."""
    text = page.read_text().replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed: the pages' scripts are not checked")
@pytest.mark.parametrize("script", [page for page in PAGES if page.suffix == ".js"], ids=lambda script: script.name)
def test_every_script_is_javascript(script, tmp_path):
    module = tmp_path / f"{script.stem}.mjs"
    module.write_text(script.read_text())
    checked = subprocess.run(["node", "--check", str(module)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
