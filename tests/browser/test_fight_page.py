"""A fight as people meet it: what one does with a key or a click, the other feels and a third sees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import (
    NEEDS,
    click_on,
    distance,
    has_log,
    join,
    picture,
    position,
    wait_for_figures,
    wait_for_log,
    walk,
)

pytestmark = NEEDS


def strike_until(strike: Callable[[], None], other: Page, pattern: str) -> None:
    """A bot or a creature that comes by may be nearer for a moment: then the blow is its, and one more is needed."""
    for _ in range(60):
        strike()
        if has_log(other, pattern):
            return
    pytest.fail(other.inner_text("#log"))


def wait_until_still(page: Page) -> None:
    """Until its player has stayed where it is for a while."""
    before = None
    while before != (before := position(page)):
        page.wait_for_timeout(700)


def test_blows_by_key_and_by_click_are_felt_and_seen_by_others(plaza: str, browser: Browser) -> None:
    una, vic, wil = (join(browser, plaza, name) for name in ("Una", "Vic", "Wil"))
    radius_m = una.evaluate("async () => (await fetch('/api/cluster')).json()")["area_radius_m"]
    wait_for_log(una, "^Vic comes into sight")
    wait_for_log(wil, "^Vic comes into sight")
    click_on(una, vic, radius_m)  # a body of the same side is not struck, but walked to
    wait_until_still(una)
    assert 0.5 < distance(una, vic) < 3.5, "beside it, not on it: two metres, in figures without digits"
    una.keyboard.press("t")
    wait_for_log(una, "^You are on side 1 now")
    strike_until(lambda: una.keyboard.press("r"), vic, "^You are hurt by 20")
    picture(wil, "fight")
    wait_for_figures(vic, "health [2468]0")
    wait_for_log(una, "^You hurt it by 20")
    strike_until(lambda: una.keyboard.press("r"), vic, "(You are hurt by 20[^$]*){5}")
    picture(vic, "fight-fallen")
    wait_for_log(una, "^You killed it")
    wait_for_log(wil, "^Vic has fallen")
    wait_for_log(vic, "^You are on your feet again")
    wait_for_figures(vic, "health 100")
    strike_until(lambda: click_on(vic, una, radius_m), una, "^You are hurt by 20")
    wait_for_figures(una, "health [2468]0")
    wait_for_log(vic, "^You hurt it by 20")
    picture(vic, "fight-vic")
    walk(vic, 1, position(vic)[1] + 20.0)
    vic.keyboard.press("r")
    wait_for_log(vic, r"^It is out of reach: \d+\.\d m away, and you reach 5 m")
    struck = una.inner_text("#log").count("You are hurt by 20")

    def hunt() -> None:
        """A click beside the mark, while the player walks, would lead it elsewhere: one click, until it stands."""
        click_on(vic, una, radius_m)
        wait_until_still(vic)

    strike_until(hunt, una, f"(You are hurt by 20[^$]*){{{struck + 1}}}")
    wait_for_log(vic, r"^Una is \d+ m away: you go there to strike")
    assert distance(vic, una) < 5.0
    picture(vic, "fight-hunt")
