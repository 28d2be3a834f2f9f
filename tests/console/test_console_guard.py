"""Access to the console: names, origins, and the token beyond this machine."""

import asyncio
import re

import aiohttp
import pytest
from aiohttp import CookieJar, web

from terrazzo.console.guard import Guard
from terrazzo.console.server import ClusterInfo, make_web_app
from terrazzo.runtime.config import ConsolePart, parse_config
from terrazzo.runtime.datafolder import DataFolder
from tests.console.pictures import whole_cluster
from tests.console.test_console_server import GAME, KEY
from tests.runtime.support import play
from tests.runtime.worlds import World

TOKEN = "0123456789abcdef0123456789abcdef"
OPEN = ("/play", "/client/terrazzo.js", "/static/common.js", "/api/schema", "/api/cluster")
GUARDED = ("/", "/api/snapshot", "/api/live", "/nothing")


def look(guard, main):
    """Runs `main(http)` against a console with this guard."""

    async def serve():
        info = ClusterInfo(name="plaza", game=GAME, public_key=KEY, login_url=lambda: "")
        runner = web.AppRunner(make_web_app(whole_cluster().console, cluster_info=info, guard=guard), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            base = f"http://127.0.0.1:{runner.addresses[0][1]}"
            async with aiohttp.ClientSession(base, cookie_jar=CookieJar(unsafe=True)) as http:
                await main(http)
        finally:
            await runner.cleanup()

    play("asyncio", serve())


async def status(http, path, **headers):
    async with http.get(path, headers=headers, allow_redirects=False) as answer:
        return answer.status


@pytest.mark.parametrize("path", [*OPEN, "/", "/api/snapshot"])
@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        ("127.0.0.1:80", True), ("[::1]:4000", True), ("192.0.2.7", True), ("LOCALHOST:7", True),
        ("play.example.org", True), ("Play.Example.Org.:8000", True),
        ("evil.example", False), ("localhost.evil.example", False), ("127.0.0.1.evil.example", False), ("[", False),
        ("evil.example:127", False), ("evil.example@127.0.0.1:x", False),
    ],
)  # fmt: skip
def test_a_name_that_is_not_in_the_settings_is_refused_for_every_path(path, host, is_known):
    async def main(http):
        assert await status(http, path, Host=host) == (200 if is_known else 403)

    look(Guard(names=["Play.example.org"]), main)


@pytest.mark.parametrize("path", ["/", "/api/snapshot", "/api/live", "/play"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_site_is_refused_for_every_path(path, origin):
    async def main(http):
        assert await status(http, path, Origin=origin) == 403

    look(Guard(), main)


def test_a_rebound_name_does_not_open_the_live_picture():
    async def main(http):
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await http.ws_connect("/api/live", origin="http://evil.example", headers={"Host": "evil.example"})
        async with http.ws_connect("/api/live") as live:
            assert await live.receive_str()

    look(Guard(), main)


def test_with_a_token_the_play_page_is_open_and_the_map_is_not():
    async def main(http):
        assert [await status(http, path) for path in OPEN] == [200] * len(OPEN)
        assert [await status(http, path) for path in GUARDED] == [403] * len(GUARDED)

    look(Guard(token=TOKEN), main)


@pytest.mark.parametrize("wrong", ["", "x", TOKEN[:-1], TOKEN + "0", "ä" * 32])
def test_a_wrong_token_opens_nothing(wrong):
    async def main(http):
        async with http.get("/", params={"token": wrong}, allow_redirects=False) as answer:
            assert answer.status == 403
            assert not answer.cookies
        for headers in ({"Authorization": f"Bearer {wrong}".encode().decode("latin-1")},):
            assert await status(http, "/api/snapshot", **headers) == 403

    look(Guard(token=TOKEN), main)


def test_the_token_becomes_a_cookie_and_leaves_the_address():
    async def main(http):
        async with http.get("/", params={"token": TOKEN}, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/")
            [cookie] = answer.cookies.values()
            assert cookie["httponly"]
            assert cookie["samesite"] == "Strict"
        assert await status(http, "/") == 200
        assert await status(http, "/api/snapshot") == 200
        async with http.ws_connect("/api/live") as live:
            assert await live.receive_str()

    look(Guard(token=TOKEN), main)


def test_a_program_shows_the_token_in_a_header():
    async def main(http):
        assert await status(http, "/api/snapshot", Authorization=f"Bearer {TOKEN}") == 200

    look(Guard(token=TOKEN), main)


@pytest.mark.parametrize(
    ("host", "needs_token"),
    [("127.0.0.1", False), ("127.3.2.1", False), ("::1", False), ("0.0.0.0", True), ("::", True), ("192.0.2.7", True)],
)
def test_a_console_beyond_this_machine_needs_a_token(host, needs_token):
    assert ConsolePart(host=host).needs_token is needs_token


def test_the_console_does_not_follow_the_doors_of_clients():
    config = parse_config('[listen]\nhost = "0.0.0.0"', "settings.toml")
    assert (config.console.host, config.console.needs_token) == ("127.0.0.1", False)


def test_the_token_is_made_once_and_for_its_owner_only(tmp_path):
    folder = DataFolder(tmp_path)
    token = folder.console_token()
    assert re.fullmatch("[0-9a-f]{32}", token)
    assert folder.console_token() == DataFolder(tmp_path).console_token() == token
    assert folder.token_file.stat().st_mode & 0o777 == 0o600


def test_run_prints_an_address_that_opens_the_map(tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text('[console]\nhost = "0.0.0.0"\n')
    with World(tmp_path / "data", "--cells", 1, "--config", settings) as world:
        world.wait_ready()
        world.wait_for("Look at it: ")
        [line] = [each for each in world.lines if "Look at it: " in each]
        address = line.split()[3]

        async def main():
            async with aiohttp.ClientSession(cookie_jar=CookieJar(unsafe=True)) as http:
                async with http.get(address.partition("?")[0]) as answer:
                    assert answer.status == 403
                async with http.get(address) as answer:
                    assert answer.status == 200

        play("asyncio", main())
        assert world.terminate() == 0


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer \udcff"}, {"Cookie": "terrazzo_console_80=\udcff"}])
def test_a_token_that_is_no_text_is_refused(headers):
    async def main(http):
        assert await raw_status(http, headers) == 403

    look(Guard(token=TOKEN), main)


@pytest.mark.parametrize("headers", [{"Origin": "http://["}, {"Host": "127.0.0.1:99999"}, {"Host": "127.0.0.1:x"}])
def test_malformed_addresses_in_headers_are_refused(headers):
    async def main(http):
        assert await raw_status(http, headers) == 403

    look(Guard(token=TOKEN), main)


async def raw_status(http, headers):
    """The status of a request for the map with headers sent byte by byte, as a client library would not send them."""
    host, port = http._base_url.host, http._base_url.port
    reader, writer = await asyncio.open_connection(host, port)
    lines = [f"{name}: {value}" for name, value in {"Host": f"{host}:{port}", **headers}.items()]
    request = "\r\n".join(["GET /?token=%FF HTTP/1.1", *lines, "Connection: close", "", ""])
    writer.write(request.encode(errors="surrogateescape"))
    answer = await reader.readline()
    writer.close()
    return int(answer.split()[1])
