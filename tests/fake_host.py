"""The host of apps in unit tests: its clock is set by hand, and it records the requests of the app."""

from __future__ import annotations

from random import Random

from terrazzo.cluster.app import ProcessLoad
from terrazzo.wire.ids import AppId


class FakeHost:
    def __init__(self) -> None:
        self.now = 100.0
        self.rng = Random(1)
        self.logged: list[tuple[str, dict[str, object]]] = []
        self.joined: list[AppId] = []
        self.load: float | None = 0.5
        self.late_ticks = 0.0

    def process_load(self) -> ProcessLoad:
        return ProcessLoad(self.load, self.late_ticks)

    def log(self, event: str, /, **facts: object) -> None:
        self.logged.append((event, facts))

    def join(self, peer: AppId) -> None:
        self.joined.append(peer)

    def fence(self, app: AppId) -> None:
        raise AssertionError(f"none of these apps declares anybody dead, not {app} either")
