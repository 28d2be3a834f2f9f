"""The way of a key press, as docs/ARCHITECTURE.md follows it, does not become longer unnoticed."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.tools.way import PAGE, ROOT, Way, figures_of_page

FILES_SPARE, RETURNS_SPARE = 3, 6
"""So much longer than the page has it the way may be before a test fails."""


@pytest.fixture(scope="module")
def found() -> Way:
    """The way as it is, counted in plain Python."""
    command = [sys.executable, "-m", "tests.tools.way"]
    environment = {**os.environ, "TERRAZZO_PURE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    *walk, figures = done.stdout.splitlines()
    way = Way(walk)
    assert figures.startswith(f"{way.files} files, and {way.returns} returns")
    return way


def test_way_of_a_key_press_is_not_longer_than_the_page_has_it(found: Way):
    files, returns = figures_of_page()
    assert found.files <= files + FILES_SPARE, f"{found.files} files: shorten the way, or give {PAGE.name} the reason"
    assert found.returns <= returns + RETURNS_SPARE, f"{found.returns} returns to a file that was left before"


def test_way_passes_the_files_of_the_page(found: Way):
    """The page names these for the steps between the two clients; `runtime` is replaced in the simulator."""
    begin = PAGE.read_text().index("## Follow a key press")
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)`", PAGE.read_text()[begin:])
    on_the_way = {"wire/client/server.py", "cell/client/moves.py", "cell/core/steps.py", "cell/ghosts/receiver.py",
                  "cell/client/scheduler.py", "sync/view.py"}  # fmt: skip
    assert on_the_way <= set(named)
    assert on_the_way <= set(found.walk)


def test_returns_count_each_file_that_is_entered_again():
    assert Way(["a.py", "b.py", "a.py", "c.py", "b.py"]).returns == 2
