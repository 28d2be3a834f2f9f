"""The browser client in Node loses its connection and resumes: the twin of `tests/client/test_client_reconnect.py`."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from terrazzo.client.pauses import FIRST_S, MOST_S
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer, encode_resume, encode_session
from tests.client.fake_cluster import BASE
from tests.client.play import BOB, BOBS, HERE, ME, RAT, THERE
from tests.client.town import AVATAR, base_row, cell_row, describe
from tests.web.node import needs_node
from tests.web.page import CLOSE, Page

pytestmark = needs_node

A, B = bytes(range(16)), bytes(range(16, 32))
READY = bytes([ToServer.READY])
PAUSES = Path(__file__).parents[2] / "clients" / "web" / "reconnect.js"


def enter(page: Page, within_s: float = 20.0) -> None:
    page.enter()
    page.cluster.say(encode_session(A, within_s))
    page.cluster.say(protocol.encode_moved(HERE, (0.0, 0.0, 0.0)))
    page.event("moved")
    page.events.clear()


def cut(page: Page) -> None:
    """The socket of the game server is closed, without a word."""
    [socket] = [number for number, place in page.sockets.items() if place == BASE]
    place = page.sockets.pop(socket)
    page.cluster.endpoints[place].on_path_lost(("page", socket))
    page.cluster.session = None
    page.cluster.heard.clear()
    page.put(CLOSE, socket)


def resume(page: Page) -> None:
    page.until(lambda: page.cluster.session is not None)
    page.cluster.say(encode_session(B, 20.0), protocol.encode_base_player(ME, AVATAR, base_row()))
    page.until(lambda: READY in page.cluster.heard)


def states(page: Page) -> list[list[object]]:
    page.tell("states")
    found: list[list[object]] = page.event("states")["states"]
    return found


def test_lost_page_resumes_and_gets_a_fresh_view(page):
    enter(page)
    cut(page)
    resume(page)
    assert page.cluster.keys[1] == encode_resume(A)
    assert len(page.cluster.requests) == 1, "without a login"
    assert [page.event("leave")["id"] for _ in range(3)] == [BOB, RAT, ME]
    assert page.event("player")["id"] == ME
    page.cluster.say(
        protocol.encode_cell_player(AVATAR, 1, HERE, (0.5, 0.0, 0.0), cell_row(health=70)),
        protocol.encode_announce(BOB, BOBS, AVATAR),
    )
    page.until(lambda: protocol.encode_want([(BOB, 0)]) in page.cluster.heard)
    page.cluster.say(describe(AVATAR, BOBS, THERE, health=60, name="Bob"))
    assert [page.event("enter")["id"] for _ in range(2)] == [ME, BOB]
    page.tell("call", id=ME, side="cell", method="say", args=["hi"])
    assert page.event("sent")["sent"]
    assert page.events == []
    assert [each[0] for each in states(page)] == ["connected", "reconnecting", "connected"]
    assert page.complaints() == ""


def test_nothing_is_sent_while_the_page_reconnects(page):
    enter(page)
    page.cluster.is_reachable[BASE] = False
    cut(page)
    page.until(lambda: states(page)[-1][0] == "reconnecting")
    page.tell("move", x=7, z=9, yaw=0.5)
    page.tell("call", id=ME, side="base", method="rename", args=["Anna"])
    assert [page.event("sent")["sent"] for _ in range(2)] == [False, False]
    assert [each for each in page.events if each["event"] == "leave"] == [], "the view stays"
    page.cluster.is_reachable[BASE] = True


def test_page_gives_up_when_its_time_is_over(page):
    enter(page, within_s=1.5)
    page.refused.add(BASE[1])
    cut(page)
    sentence = page.event("closed")["sentence"]
    address = f"ws://{BASE[0]}:{BASE[1]}/play"
    assert sentence == f"The game server at {address} could not be reached again within 1.5 s: log in again."
    found = states(page)
    assert [each[0] for each in found][-1] == "gone"
    tries = [each[1] for each in found if each[0] == "reconnecting"]
    assert tries == list(range(1, len(tries) + 1))
    assert len(tries) >= 2


def test_refused_token_ends_the_page_with_the_servers_sentence(page):
    enter(page)
    cut(page)
    page.until(lambda: page.cluster.session is not None)
    page.cluster.say(protocol.encode_logged_off(10, "this session cannot be resumed"))
    page.cluster.session.close(time.monotonic())
    assert page.event("closed")["sentence"] == "this session cannot be resumed"
    assert states(page)[-1][0] == "gone"


def test_farewell_of_the_server_is_not_resumed(page):
    enter(page)
    page.cluster.say(protocol.encode_logged_off(9, "your player has logged in again"))
    assert page.event("closed")["sentence"] == "your player has logged in again"
    assert [each[0] for each in states(page)] == ["connected", "gone"]
    assert len(page.cluster.keys) == 1


def test_player_may_leave_while_the_page_reconnects(page):
    enter(page)
    page.refused.add(BASE[1])
    cut(page)
    page.until(lambda: states(page)[-1][0] == "reconnecting")
    page.tell("leave")
    page.event("left")
    assert "did not confirm" in page.event("closed")["sentence"]
    assert states(page)[-1][0] == "gone"


def test_pauses_are_those_of_the_python_client():
    script = f"""
    import {{ Pauses }} from {json.dumps(PAUSES.as_uri())};
    const made = (byte) => new Pauses(() => Uint8Array.of(byte), 0, 30000);
    const all = (pauses) => {{
      const found = [];
      for (let now = 0, ms; (ms = pauses.next(now)) !== null; now += ms) found.push(ms);
      return found;
    }};
    console.log(JSON.stringify([all(made(0)), all(made(255))]));
    """
    command = ["node", "--input-type=module", "-e", script]
    least, most = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    expected = [min(FIRST_S * 2.0**number, MOST_S) * 1000 for number in range(40)]
    assert most == expected[: len(most)]
    assert least == [each / 2 for each in expected[: len(least)]]
    assert sum(most) < 30000 <= sum(most) + MOST_S * 1000
