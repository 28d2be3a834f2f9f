"""The plaza as a person meets it: real processes, a real browser, two people in two tabs.

Chromium comes from Debian's packages (`make test` installs it when it may); without it this file is skipped.
Pictures of both pages are left in the folder that TERRAZZO_PICTURES names, if it names one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent.parent
BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium: as root, `make test` installs Debian's"),
    pytest.mark.skipif(bool(os.environ.get("TERRAZZO_PURE")), reason="once is enough: the compiled run has it"),
]


@pytest.fixture(scope="module")
def plaza(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of a plaza with four cells and thirty bots."""
    data = tmp_path_factory.mktemp("plaza")
    command = [sys.executable, "-c", "from terrazzo.cli.main import main; main()", "run", "examples/plaza",
               "--cells", "4", "--bases", "2", "--bots", "30", "--data", str(data)]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if "ready" in line:
            break
    found = re.search(r"http://[\d.:]+/", "".join(said))
    assert found, "".join(said)
    try:
        yield found.group()
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=30)
        assert process.returncode == 0, "".join(said) + rest


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield opened
        opened.close()


def picture(page: Page, name: str) -> None:
    folder = os.environ.get("TERRAZZO_PICTURES")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def open_page(browser: Browser, address: str) -> Page:
    page = browser.new_context(viewport={"width": 1100, "height": 750}, bypass_csp=True).new_page()
    page.on("pageerror", lambda problem: pytest.fail(f"the page raised {problem}"))
    page.goto(address)
    return page


def join(browser: Browser, plaza: str, name: str) -> Page:
    page = open_page(browser, plaza + "play")
    page.fill("#who", name)
    page.fill("#password", "a secret of mine")
    page.click("#join")
    page.get_by_text("You are in the plaza.").first.wait_for(timeout=30_000)
    return page


def wait_for_log(page: Page, pattern: str, seconds: int = 60) -> None:
    page.wait_for_function(
        "pattern => new RegExp(pattern, 'm').test(document.getElementById('log').innerText)",
        arg=pattern, timeout=seconds * 1000,
    )  # fmt: skip


def position(page: Page) -> tuple[float, float]:
    found = re.search(r"(-?\d+), (-?\d+)", page.inner_text("#figures"))
    assert found, page.inner_text("#figures")
    return float(found[1]), float(found[2])


def test_two_people_walk_talk_and_cross_a_border(plaza: str, browser: Browser) -> None:
    ann, ben = join(browser, plaza, "Ann"), join(browser, plaza, "Ben")
    wait_for_log(ann, r"^Ben comes into sight")
    wait_for_log(ben, r"^Ann comes into sight")
    ann.fill("#words", "Good day to you")
    ann.keyboard.press("Enter")
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


def go_through(page: Page, space: str) -> None:
    """The server may not have heard yet how near the door is: then again."""
    for _ in range(20):
        page.keyboard.press("f")
        page.wait_for_timeout(1000)
        if page.inner_text("#figures").splitlines()[1].startswith(space):
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


def test_the_map_shows_cells_and_those_who_walk(plaza: str, browser: Browser) -> None:
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
