"""The load of a process is measured, over windows that are long enough to mean something."""

from __future__ import annotations

import pytest

from terrazzo.runtime.cpuload import CpuLoad


class Meters:
    def __init__(self) -> None:
        self.used = self.now = 10.0
        self.load = CpuLoad(lambda: self.used, lambda: self.now)

    def after(self, passed_s: float, used_s: float) -> float | None:
        self.now += passed_s
        self.used += used_s
        return self.load()


def test_load_is_unknown_before_the_first_window_ends():
    meters = Meters()
    assert meters.after(0.4, 0.4) is None


def test_load_is_the_share_of_a_core_that_was_used():
    meters = Meters()
    assert meters.after(2.0, 0.5) == pytest.approx(0.25)
    assert meters.after(1.0, 1.5) == pytest.approx(1.5)


def test_load_is_not_measured_anew_within_a_window():
    meters = Meters()
    assert meters.after(1.0, 0.5) == pytest.approx(0.5)
    assert meters.after(0.1, 0.1) == pytest.approx(0.5)
    assert meters.after(0.9, 0.0) == pytest.approx(0.1)
