"""Pages of the plaza in a real browser, and what a person does there: join, walk, click, read."""

from __future__ import annotations

import os
import re
import shutil
from math import hypot
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, TimeoutError

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
NEEDS = [
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium: as root, `make test` installs Debian's"),
    pytest.mark.skipif(bool(os.environ.get("TERRAZZO_PURE")), reason="once is enough: the compiled run has it"),
]
"""The marks of every file here."""
IS_LIKE = "([element, pattern]) => new RegExp(pattern, 'm').test(document.getElementById(element).innerText)"


def picture(page: Page, name: str) -> None:
    folder = os.environ.get("TERRAZZO_PICTURES")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def open_page(browser: Browser, address: str, behind: str = "") -> Page:
    """`behind` is JavaScript that is put behind play.js, where it can use the names of that module."""
    context = browser.new_context(viewport={"width": 1100, "height": 750}, bypass_csp=True)

    def add(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text() + behind)

    if behind:
        context.route("**/play.js", add)
    page = context.new_page()
    page.on("pageerror", lambda problem: pytest.fail(f"the page raised {problem}"))
    page.goto(address)
    return page


def join(browser: Browser, plaza: str, name: str, behind: str = "") -> Page:
    page = open_page(browser, plaza + "play", behind)
    page.fill("#who", name)
    page.fill("#password", "a secret of mine")
    page.evaluate("document.getElementById('sights').checked = true")
    page.click("#join")
    page.get_by_text("You are in the plaza.").first.wait_for(timeout=30_000)
    return page


def wait_for_log(page: Page, pattern: str, seconds: int = 60) -> None:
    wait_for(page, "log", pattern, seconds)


def wait_for_figures(page: Page, pattern: str, seconds: int = 30) -> None:
    wait_for(page, "figures", pattern, seconds)


def has_log(page: Page, pattern: str, seconds: int = 1) -> bool:
    """Whether a line of the log is like the pattern, or becomes so this soon."""
    try:
        page.wait_for_function(IS_LIKE, arg=["log", pattern], timeout=seconds * 1000)
    except TimeoutError:
        return False
    return True


def wait_for(page: Page, element: str, pattern: str, seconds: int) -> None:
    """Until a line of this element is like the pattern; if none becomes so, the test ends with what is there."""
    try:
        page.wait_for_function(IS_LIKE, arg=[element, pattern], timeout=seconds * 1000)
    except TimeoutError:
        pytest.fail(f"no {pattern!r} in {page.inner_text('#figures')!r} and this log:\n{page.inner_text('#log')}")


def position(page: Page) -> tuple[float, float]:
    found = re.search(r"(-?\d+), (-?\d+)", page.inner_text("#figures"))
    assert found, page.inner_text("#figures")
    return float(found[1]), float(found[2])


def walk(page: Page, axis: int, goal: float) -> None:
    """Along x (0) or z (1), until the figures show that it is there or past it."""
    is_up = position(page)[axis] < goal
    key = ("ad", "sw")[axis][is_up]
    page.keyboard.down(key)
    page.wait_for_function(
        "([axis, goal, sign]) => sign * (Number(/(-?\\d+), (-?\\d+)/.exec("
        "document.getElementById('figures').innerText)[axis + 1]) - goal) >= 0",
        arg=[axis, goal, 1 if is_up else -1], timeout=30_000,
    )  # fmt: skip
    page.keyboard.up(key)


def say(page: Page, words: str) -> None:
    page.fill("#words", words)
    page.keyboard.press("Enter")


def distance(page: Page, other: Page) -> float:
    """Between the players of two pages, as the figures show it."""
    return hypot(*(here - there for here, there in zip(position(page), position(other), strict=True)))


def click_on(page: Page, other: Page, radius_m: float) -> None:
    """Where this page must show the player of the other one: its own player is in the middle."""
    (x, z), (x0, z0) = position(other), position(page)
    box = page.locator("#world").bounding_box()
    assert box is not None
    scale = min(box["width"], box["height"]) / (2.05 * radius_m)
    place = {"x": box["width"] / 2 + (x - x0) * scale, "y": box["height"] / 2 - (z - z0) * scale}
    page.click("#world", position=place, force=True)  # type: ignore[arg-type]
