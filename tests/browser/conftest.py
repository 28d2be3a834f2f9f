"""One plaza with its processes and one browser for all tests of a file; each test has pages of its own.

The plaza ends with its file: its bots would take processor time from all tests that follow.
Chromium comes from Debian's packages (`make test` installs it when it may); without it these tests are skipped.
Pictures of the pages are left in the folder that TERRAZZO_PICTURES names, if it names one.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.pages import BROWSER

ROOT = Path(__file__).parent.parent.parent
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def plaza(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of a plaza with four cells and thirty bots."""
    data = tmp_path_factory.mktemp("plaza")
    command = [sys.executable, "-c", "from terrazzo.cli.main import main; main()", "run", "examples/plaza",
               "--cells", "4", "--bases", "2", "--bots", "30", "--data", str(data)]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line)
            if "The world is ready" in line:
                break
        found = re.search(r"http://[\d.:]+/", "".join(said))
        assert found, "".join(said)
        yield found.group()
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0, "".join(said) + rest


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Without pages at first; those that a test opens are closed at its end, and share nothing with other tests."""
    yield chromium
    for context in chromium.contexts:
        context.close()
