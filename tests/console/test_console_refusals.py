"""What the doors of a cluster have refused is in the console's picture, by app, door and reason."""

from __future__ import annotations

import pytest
from aiohttp import WSMsgType

from tests.console.pictures import BASE_0, LOGIN_APP, VIEWS, whole_cluster
from tests.console.test_console_app import app_of
from tests.console.test_console_server import look, serving

FEW = {"door": "udp", "reason": "cookie", "count": 3, "sentence": "A cookie is forged."}
MANY = {"door": "login", "reason": "rate", "count": 40, "sentence": "Too many attempts."}
OWN = {"door": "connections", "reason": "late", "count": 7, "sentence": "Too late."}


def test_refusals_of_all_doors_and_of_the_console_itself_are_in_the_picture_most_first():
    bench = whole_cluster()
    assert bench.console.snapshot()["refusals"] == []
    asked = bench.tick(1.0)
    for app, lines in {BASE_0: [FEW], LOGIN_APP: [MANY]}.items():
        bench.show(app, asked[app][0], VIEWS[app] | {"refused_clients": lines})
    bench.console.refused_outside = lambda: [OWN]
    assert bench.console.snapshot()["refusals"] == [
        {"app": str(LOGIN_APP), **MANY},
        {"app": "console", **OWN},
        {"app": str(BASE_0), **FEW},
    ]
    assert "refused_clients" not in app_of(bench, BASE_0)["facts"]


@pytest.mark.parametrize("line", [{"door": 3}, {**FEW, "count": "many"}, "no line"])
def test_refusals_that_do_not_fit_are_refused_with_their_view(line):
    bench = whole_cluster()
    asked = bench.tick(1.0)
    bench.show(BASE_0, asked[BASE_0][0], VIEWS[BASE_0] | {"refused_clients": [line]})
    assert bench.console.snapshot()["refusals"] == []
    assert bench.console.refusals.total() == 1


def test_message_that_is_small_only_while_compressed_ends_its_connection():
    async def main():
        async with serving(whole_cluster()) as (http, _), http.ws_connect("/api/live", compress=15) as ws:
            assert ws.compress
            await ws.send_bytes(bytes(10_000_000))
            while (message := await ws.receive()).type is WSMsgType.TEXT:
                pass
            assert message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED)

    look(main)
