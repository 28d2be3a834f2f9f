"""The way of a key press, counted: which files run because a player has moved, in the order in which they are entered.

    python -m tests.tools.way            the walk, and the two figures of docs/ARCHITECTURE.md
    python -m tests.tools.way --check    compares the figures with the page

A cluster in the simulator, in plain Python: Ann in one cell, Cid in the next. The same seconds run twice: once with a
move of Ann, until Cid's view has it, and once without. A call that the first run makes more often than the second is a
part of the way. Each function is read once, in the order of the first calls: the figures are how many files that takes,
and how often the next function is in a file that was left before. What `runtime` does (sockets, threads) is replaced in
the simulator, and is not counted.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from math import inf
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "terrazzo"
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
OUTSIDE = ("sim", "bench")
"""Packages that drive the world, or stand for a game."""
FIGURES = re.compile(r"(\d+) files, and (\d+) returns")

Call = tuple[CodeType | None, CodeType]
"""The caller and the function that it calls."""


class Way(NamedTuple):
    """The files on the way."""

    walk: list[str]
    """In order; a file that is entered again is there again."""

    @property
    def files(self) -> int:
        """How many files that are."""
        return len(set(self.walk))

    @property
    def returns(self) -> int:
        """How often a file is entered again."""
        return len(self.walk) - self.files


def calls_of(is_moving: bool, seconds: float | None) -> tuple[list[Call], float]:
    """The calls from the move on, until it was seen or for so many seconds, and how long that was."""
    import terrazzo.client.client
    from terrazzo.bench.latency_game import SPACE, Position, game_of
    from terrazzo.managers.cellapp_mgr import ManagerState
    from terrazzo.sim.cluster import Cluster
    from terrazzo.sim.world import World

    world = World(1)
    places: list[Position] = []
    world.network.default.latency_s = 0.001
    cluster = Cluster(world, game_of(places), cells=2, bases=1, tick_s=0.1)
    cluster.conditions = (0.02, 0.0, 0.0, 0.0)

    def run_until(is_so: Callable[[], bool], most_s: float, step_s: float = 0.01) -> float:
        begun = world.clock.now
        while not is_so() and world.clock.now < begun + most_s:
            world.clock.run_until(world.clock.now + step_s)
        return world.clock.now - begun

    def enter(name: str, at: float) -> Any:
        places.append((at, 0.0, 0.0) if axis == 0 else (0.0, 0.0, at))
        seat = cluster.client(name, "secret")
        run_until(lambda: seat.app.has_body, 10.0)
        return seat

    run_until(lambda: cluster.manager.state is ManagerState.READY, 10.0)
    (_, node, _), *_ = cluster.manager.tree_of(SPACE).nodes()
    axis = int(node.axis)
    ann, cid = enter("ann", node.position - 6.0), enter("cid", node.position + 6.0)
    run_until(lambda: False, 5.0)
    x, y, z = ann.app.player.position
    goal = (x, y, z + 1.0) if axis == 0 else (x + 1.0, y, z)

    def is_seen() -> bool:
        found = cid.app.view.find(ann.app.player.id)
        return is_moving and found is not None and abs(found.position[0] + found.position[2] - goal[0] - goal[2]) < 0.1

    calls: list[Call] = []
    terrazzo.client.client.MOVE_REPEAT_S = inf  # what a client repeats would hide the way in both runs

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append((None if frame.f_back is None else frame.f_back.f_code, frame.f_code))

    assert not is_seen()
    sys.setprofile(note)
    try:
        if is_moving:
            ann.app.move(goal)
        ann.app.tick(world.clock.now)
        ann.flush()
        took_s = run_until(is_seen, 2.0 if seconds is None else seconds, 0.001)
    finally:
        sys.setprofile(None)
    return calls, took_s


def file_of(code: CodeType) -> str | None:
    """The file of a function, if it is a part of the way."""
    path = Path(code.co_filename)
    if not path.is_relative_to(SOURCE) or code.co_name.startswith("<"):
        return None
    name = path.relative_to(SOURCE)
    return None if name.parts[0] in OUTSIDE else name.as_posix()


def way() -> Way:
    """Runs both worlds."""
    moved, took_s = calls_of(True, None)
    quiet, _ = calls_of(False, took_s)
    more = Counter(moved) - Counter(quiet)
    walk: list[str] = []
    read: set[CodeType] = set()
    for call in moved:
        if call in more:
            for code in call:  # the caller may have run in the quiet world as well, and is read all the same
                name = None if code is None or code in read else file_of(code)
                if name is not None and code is not None:
                    read.add(code)
                    if not walk or walk[-1] != name:
                        walk.append(name)
    return Way(walk)


def figures_of_page() -> tuple[int, int]:
    """What docs/ARCHITECTURE.md has: files and returns."""
    found = FIGURES.search(PAGE.read_text())
    assert found is not None, f"{PAGE.name} has no figures of the way"
    return int(found[1]), int(found[2])


def main(words: list[str]) -> int:
    """Runs itself again in plain Python, where every function is seen."""
    if os.environ.get("TERRAZZO_PURE") != "1":
        os.execve(
            sys.executable, [sys.executable, "-m", "tests.tools.way", *words], {**os.environ, "TERRAZZO_PURE": "1"}
        )
    found = way()
    print("\n".join(found.walk))
    print(f"{found.files} files, and {found.returns} returns to a file that was left before")
    if "--check" not in words:
        return 0
    files, returns = figures_of_page()
    return int(found.files > files or found.returns > returns)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
