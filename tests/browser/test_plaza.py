"""The plaza as a person meets it: real processes, a real browser, two people in two tabs."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, TimeoutError

from tests.browser.pages import NEEDS, join, open_page, picture, position, say, wait_for_log, walk

pytestmark = NEEDS

IS_IN = "space => document.getElementById('figures').innerText.split('\\n')[1].startsWith(space)"


def test_two_people_walk_talk_and_cross_a_border(plaza: str, browser: Browser) -> None:
    ann, ben = join(browser, plaza, "Ann"), join(browser, plaza, "Ben")
    wait_for_log(ann, r"^Ben comes into sight")
    wait_for_log(ben, r"^Ann comes into sight")
    say(ann, "Good day to you")
    wait_for_log(ben, r"^Ann: Good day to you")
    ann.click("#world", position={"x": 5, "y": 5}, force=True)
    picture(ben, "ben")
    key = "d" if position(ann)[0] < 0 else "a"
    ann.keyboard.down(key)
    wait_for_log(ann, r"^You crossed a border")
    ann.keyboard.up(key)
    picture(ann, "ann")
    ann.keyboard.down(key)
    wait_for_log(ann, r"^bot-\d+ is out of sight")
    ann.keyboard.up(key)
    back = "a" if key == "d" else "d"
    seen = ann.inner_text("#log").count("comes into sight")
    ann.keyboard.down(back)
    ann.wait_for_function(
        "seen => (document.getElementById('log').innerText.match(/^bot-.*comes into sight/gm) || []).length > seen"
        " || document.getElementById('log').innerText.split('comes into sight').length - 1 > seen",
        arg=seen, timeout=60_000,
    )  # fmt: skip
    ann.keyboard.up(back)
    ann.click("#leave")
    wait_for_log(ben, r"^Ann is out of sight")


def go_through(page: Page, space: str) -> None:
    """The server may not have received yet how near to the door the player is: then again."""
    for _ in range(20):
        page.keyboard.press("f")
        try:
            page.wait_for_function(IS_IN, arg=space, timeout=1000)
        except TimeoutError:
            continue
        return
    pytest.fail(page.inner_text("#log"))


def test_a_door_leads_into_the_hall(plaza: str, browser: Browser) -> None:
    page = join(browser, plaza, "Dora")
    page.click("#world", position={"x": 5, "y": 5}, force=True)
    walk(page, 0, 0.0)
    walk(page, 1, 29.0)
    go_through(page, "hall")
    picture(page, "hall")
    walk(page, 1, -29.0)
    go_through(page, "plaza")
    page.click("#leave")
    page.wait_for_selector("#join:visible", timeout=30_000)


def test_map_shows_cells_and_walking_bodies(plaza: str, browser: Browser) -> None:
    page = open_page(browser, plaza)
    page.wait_for_function("document.body.innerText.includes('4 cells')", timeout=30_000)
    page.wait_for_function("/\\b3[0-9] players/.test(document.body.innerText)", timeout=60_000)
    picture(page, "map")
    snapshot = page.evaluate("async () => (await fetch('/api/snapshot')).json()")
    [space] = [each for each in snapshot["spaces"] if each["name"] == "plaza"]
    assert len(space["cells"]) == 4
    assert any(not each["real"] for each in space["entities"]), "nobody has a ghost"


def test_a_wrong_password_gets_one_clear_sentence(plaza: str, browser: Browser) -> None:
    page = join(browser, plaza, "Cleo")
    page.click("#leave")
    page.wait_for_selector("#join:visible", timeout=30_000)
    page = open_page(browser, plaza + "play")
    page.fill("#who", "Cleo")
    page.fill("#password", "a guess")
    page.click("#join")
    page.wait_for_function("document.getElementById('failure').innerText.length > 0", timeout=30_000)
    assert "password" in page.inner_text("#failure").lower()
