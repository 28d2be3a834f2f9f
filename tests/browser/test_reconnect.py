"""After its connection was cut, a page is back in place without a login; a tab shows why another one has its player."""

from __future__ import annotations

from playwright.sync_api import Browser

from tests.browser.pages import NEEDS, has_log, join, picture, position, say, wait_for_log

pytestmark = NEEDS

SOCKETS = """
globalThis.sockets = [];
globalThis.isCut = false;
const RealSocket = WebSocket;
globalThis.WebSocket = class extends RealSocket {
  constructor(url) {
    super(globalThis.isCut ? "ws://127.0.0.1:1/" : url);
    sockets.push(this);
  }
};
"""
"""The page notes its sockets, so that a test can close one. While `isCut` is set, they lead nowhere."""


def test_page_with_a_cut_socket_is_back_in_place_without_a_login(plaza: str, browser: Browser) -> None:
    nina, otto = join(browser, plaza, "Nina", behind=SOCKETS), join(browser, plaza, "Otto")
    wait_for_log(otto, r"^Nina comes into sight")
    before = position(nina)
    requests: list[str] = []
    nina.on("request", lambda request: requests.append(request.url))
    opened = nina.evaluate("sockets.length")
    for _ in range(2):
        nina.evaluate("document.getElementById('log').replaceChildren()")  # the page keeps its last lines only
        nina.evaluate("sockets.at(-1).close()")
        for words in (r"^The connection is lost\.", r"^The connection is there again\.", r"^You are in the plaza\."):
            wait_for_log(nina, words)
    assert nina.evaluate("sockets.length") == opened + 2, "one for each time: to the game server, not the login"
    assert nina.inner_text("#status") == "in the world"
    assert nina.is_hidden("#door")
    assert not [url for url in requests if "/api/cluster" in url]
    assert position(nina) == before
    say(nina, "Still here")
    wait_for_log(otto, r"^Nina: Still here")
    assert not has_log(otto, r"^Nina is out of sight"), "its body has never left the world"
    picture(nina, "reconnected")


def test_page_shows_that_it_reconnects_and_can_be_left_meanwhile(plaza: str, browser: Browser) -> None:
    page = join(browser, plaza, "Paul", behind=SOCKETS)
    page.evaluate("() => { isCut = true; sockets.at(-1).close(); }")
    page.wait_for_function("document.getElementById('status').innerText === 'reconnecting'", timeout=30_000)
    page.wait_for_function("document.getElementById('notice').innerText.includes('try 3')", timeout=30_000)
    picture(page, "reconnecting")
    page.click("#leave")
    page.wait_for_selector("#join:visible", timeout=30_000)
    assert "did not confirm that everything is saved" in page.inner_text("#failure")


def test_first_tab_shows_that_its_player_has_logged_in_in_a_second_one(plaza: str, browser: Browser) -> None:
    first = join(browser, plaza, "Rosa")
    second = join(browser, plaza, "Rosa")
    first.wait_for_selector("#join:visible", timeout=30_000)
    assert "your player has logged in again, from another place" in first.inner_text("#failure")
    assert first.inner_text("#status") == "not in the world"
    picture(first, "taken-over")
    say(second, "It is me")
    wait_for_log(second, r"^Rosa: It is me")
    assert second.inner_text("#status") == "in the world"
