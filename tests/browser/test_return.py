"""A page stays open while its world restarts: it logs in again by itself, and shows that meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import NEEDS, join, open_page, picture, wait_for_log
from tests.browser.worlds import Restarted

pytestmark = NEEDS


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    made = Restarted(tmp_path_factory.mktemp("world"))
    yield made
    made.stop()


@pytest.fixture
def world(place: Restarted) -> Restarted:
    """It runs: a test that begins where another has left it need not wait for a second start."""
    if not place.is_running:
        place.start()
    return place


def wait_for_status(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.getElementById('status').innerText.includes(text)", arg=text, timeout=60_000
    )  # fmt: skip


def test_open_pages_come_back_after_a_restart(world: Restarted, browser: Browser) -> None:
    page, map_page = join(browser, world.address, "Rita"), open_page(browser, world.address)
    wait_for_status(page, "in the world")
    world.stop()
    wait_for_status(page, "coming back")
    wait_for_status(map_page, "trying again")
    assert "You come back by yourself" in page.inner_text("#notice")
    picture(page, "coming-back")
    world.start()
    wait_for_status(page, "in the world")
    wait_for_status(map_page, "live")
    page.wait_for_selector("#notice", state="hidden", timeout=30_000)
    wait_for_log(page, r"^You are out of the world: the server is stopping")
    picture(page, "back")
    page.click("#leave")
    page.wait_for_selector("#join:visible", timeout=30_000)
    assert page.inner_text("#failure") == ""


def test_player_may_give_up_the_way_back_and_another_world_is_not_entered(world: Restarted, browser: Browser) -> None:
    given_up, waiting = join(browser, world.address, "Gina"), join(browser, world.address, "Wim")
    world.stop()
    for page in (given_up, waiting):
        wait_for_status(page, "coming back")
    given_up.click("#leave")
    given_up.wait_for_selector("#join:visible", timeout=30_000)
    world.start("other")
    waiting.wait_for_selector("#join:visible", timeout=60_000)
    assert waiting.inner_text("#failure").startswith("Another world is at this address now, the plaza")
    assert given_up.inner_text("#status") == "not in the world"
