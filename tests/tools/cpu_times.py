"""A pytest plugin: the processor time of each test and of each file, and the time that a test waits.

Wall time depends on what else the machine does; processor time hardly does. `-p tests.tools.cpu_times` adds up, for
each test, the time of its own process and of the children that ended during it (set-up and tear-down included), and
prints the dearest files and tests at the end. Beside it stands how long the test waited: its wall time without the time
that its process used a processor or queued for one (Linux counts that). A test that waits for other processes or for a
clock has a high figure there. Under xdist, the workers send their figures with the report of the tear-down. If
TERRAZZO_CPU_TIMES names a file, each test's figures are added to it as one line of JSON as soon as the test has ended.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

SHOWN = 10
KEY = "spent"
QUEUED = Path("/proc/self/schedstat")
"""Of the main thread: nanoseconds on a processor, nanoseconds in the queue for one."""


class Spent(NamedTuple):
    """Seconds, since the process began or in one test."""

    cpu_s: float
    waiting_s: float

    def __add__(self, other: Spent) -> Spent:  # type: ignore[override]
        return Spent(self.cpu_s + other.cpu_s, self.waiting_s + other.waiting_s)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.cpu_s - other.cpu_s, self.waiting_s - other.waiting_s)


def spent() -> Spent:
    """By this process and by its children that have ended and were waited for."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    running_s, queued_s = (int(each) / 1e9 for each in QUEUED.read_text().split()[:2]) if QUEUED.exists() else (0, 0)
    waiting_s = time.monotonic() - running_s - queued_s
    return Spent(sum(usage.ru_utime + usage.ru_stime for usage in both), waiting_s)


class CpuTimes:
    def __init__(self) -> None:
        self._tests: defaultdict[str, Spent] = defaultdict(lambda: Spent(0.0, 0.0))
        self._before = spent()
        """What was spent when the last test had ended."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            now = spent()
            report.user_properties.append((KEY, list(now - self._before)))
            self._before = now
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """What lies between two tests is xdist's wait for its next order."""
        self._before = spent()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the process that prints: xdist has brought the reports of the workers here."""
        figures = dict(report.user_properties).get(KEY)
        if report.when != "teardown" or not isinstance(figures, list):
            return
        self._tests[report.nodeid] += Spent(*figures)
        wanted = os.environ.get("TERRAZZO_CPU_TIMES")
        if wanted and "PYTEST_XDIST_WORKER" not in os.environ:
            with Path(wanted).open("a") as lines:
                lines.write(json.dumps([report.nodeid, *(round(each, 4) for each in figures)]) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: defaultdict[str, Spent] = defaultdict(lambda: Spent(0.0, 0.0))
        for test, figures in self._tests.items():
            files[test.partition("::")[0]] += figures
        total = sum(files.values(), Spent(0.0, 0.0))
        terminalreporter.section(f"{total.cpu_s:.0f} s of processor time, {total.waiting_s:.0f} s of waiting")
        for title, found in (("files", files), ("tests", self._tests)):
            terminalreporter.write_line(f"processor  waiting   the dearest {title}")
            for name, figures in sorted(found.items(), key=lambda each: -sum(each[1]))[:SHOWN]:
                terminalreporter.write_line(f"{figures.cpu_s:7.2f} s {figures.waiting_s:6.2f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuTimes(), "terrazzo-cpu-times")
