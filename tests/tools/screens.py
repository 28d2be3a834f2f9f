"""From a key press in one browser to the moved player on the screen of another: `python -m tests.tools.screens`.

Starts a plaza of real processes (two CellApps, one BaseApp) and two pages in Chromium. One player presses a key, and
the page of the other notes when the first move arrives and when a frame first shows the player elsewhere: first with
both in one cell, then with the border between them. A person sees the frame up to one frame later. `--json` prints the
figures for programs; `--shots FOLDER` leaves pictures of both pages. It needs Chromium and the tools of the tests.

The figures need a quiet machine, since the pages take processor time, too. So the round trips of both pages to their
BaseApp are beside them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import click
from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

from tests.browser.conftest import ARGUMENTS
from tests.browser.pages import BROWSER, join, position, wait_for_log, walk
from tests.browser.worlds import Restarted

SCRIPT = Path(__file__).with_suffix(".js").read_text()
NAMES = ("Key", "Eye")
BESIDE_M = 8.0
"""From the border, and from each other in the same cell."""
HELD_MS = 250
REST_MS = 700
"""After a walk, until the other page shows it at rest."""


def enter(browser: Browser, world: str, name: str) -> Page:
    """A page in the world, with our script behind its own."""
    page = join(browser, world, name, SCRIPT)
    page.click("#world", position={"x": 5, "y": 5}, force=True)  # the keys go to the world now
    return page


def border(page: Page) -> tuple[int, float, float]:
    """Where two cells of the plaza meet: the axis across (0 is x, 1 is z), its coordinate, the middle along it."""
    snapshot = page.evaluate("async () => (await fetch('/api/snapshot')).json()")
    [space] = [each for each in snapshot["spaces"] if each["name"] == "plaza"]
    rects = [each["rect"] for each in space["cells"]]
    for one in rects:
        for other in rects:
            for axis in (0, 1):
                if one[axis + 2] == other[axis]:
                    low, high = max(one[1 - axis], other[1 - axis]), min(one[3 - axis], other[3 - axis])
                    return axis, one[axis + 2], (low + high) / 2
    raise AssertionError(rects)


def presses(key: Page, eye: Page, axis: int, count: int) -> dict[str, Any]:
    """The player of one page walks to and fro along the border; what the other page noted, in milliseconds."""
    me = eye.evaluate("name => screens.findId(name)", NAMES[0])
    eye.evaluate("id => screens.watch(id)", me)
    there_and_back = "ws" if axis == 0 else "da"
    waits: dict[str, list[float]] = {"arrived_ms": [], "shown_ms": []}
    lost = 0
    for number in range(count):
        eye.evaluate("id => screens.arm(id)", me)
        key.keyboard.down(there_and_back[number % 2])
        key.wait_for_timeout(HELD_MS + 7 * (number % 15))  # not always at the same time of a tick
        key.keyboard.up(there_and_back[number % 2])
        try:
            eye.wait_for_function("count => screens.seen.length === count", arg=number + 1 - lost, timeout=5000)
        except TimeoutError:
            lost += 1
            continue
        pressed = key.evaluate("screens.keys.at(-1)")
        seen = eye.evaluate("screens.seen.at(-1)")
        waits["arrived_ms"].append(seen["at"] - pressed)
        waits["shown_ms"].append(seen["shown"] - pressed)
        key.wait_for_timeout(REST_MS)
    figures: dict[str, Any] = {name: summary(each) for name, each in waits.items()}
    return {**figures, "presses": count, "not_seen": lost}


def summary(waits: list[float]) -> dict[str, float]:
    cuts = quantiles(waits, n=100, method="inclusive")
    return {"p50": round(median(waits), 1), "p99": round(cuts[98], 1), "least": round(min(waits), 1)}


def round_trip_ms(page: Page) -> float:
    return float(page.inner_text("#figures").split(" ms")[0].split()[-1])


def look(browser: Browser, world: str, name: str, side: float, count: int, shots: Path | None) -> dict[str, Any]:
    """Two new pages; the player that is looked at stands on this side of the border, the other one beyond it or not."""
    key, eye = (enter(browser, world, each) for each in NAMES)
    wait_for_log(eye, f"^{NAMES[0]} comes into sight")
    axis, at, along = border(key)
    for page, away in ((key, BESIDE_M), (eye, 2 * BESIDE_M if side > 0 else -BESIDE_M)):
        walk(page, 1 - axis, along)
        walk(page, axis, at + away)
    key.wait_for_timeout(2000)
    places = [position(each) for each in (key, eye)]
    figures = {**presses(key, eye, axis, count), "places": places}
    figures["round_trip_ms"] = [round_trip_ms(each) for each in (key, eye)]
    for page, who in ((key, NAMES[0]), (eye, NAMES[1])):
        if shots is not None:
            page.screenshot(path=str(shots / f"screens-{name}-{who}.png"))
    for page in (key, eye):
        page.context.close()
    return figures


def measure(count: int, shots: Path | None, bots: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        world = Restarted(Path(folder), "--cells", "2", "--bases", "1", "--bots", str(bots))
        world.start()
        try:
            browser = driver.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
            found = {
                name: look(browser, world.address, name, side, count, shots)
                for name, side in (("same_cell", 1.0), ("across_border", -1.0))
            }
            browser.close()
        finally:
            world.stop()
    return found


@click.command()
@click.option("--presses", "count", default=60, show_default=True, help="In each of the two situations.")
@click.option("--bots", default=10, show_default=True, help="That walk around meanwhile.")
@click.option("--shots", type=click.Path(path_type=Path, file_okay=False, exists=True), help="A folder for pictures.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def main(count: int, bots: int, shots: Path | None, as_json: bool) -> None:
    """From a key to another screen, in the same cell and across a border."""
    found = measure(count, shots, bots)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for name, each in found.items():
        shown, arrived = each["shown_ms"], each["arrived_ms"]
        click.echo(f"{name}: shown after {shown['p50']} ms (p99 {shown['p99']}), arrived after {arrived['p50']} "
                   f"(p99 {arrived['p99']}), {each['not_seen']} of {each['presses']} not seen")  # fmt: skip


if __name__ == "__main__":
    main()
