"""What a crowd has seen of a world, as plain data for people and programs.

Every value is measured in the time of the report. One that could not be measured is None, or is not there.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from terrazzo.errors import UsageError
from terrazzo.runtime.cpuload import used_s
from terrazzo.runtime.crowd import Crowd, Rates, percentile
from terrazzo.runtime.orders import RunningApp
from terrazzo.runtime.soak import resident_kib
from terrazzo.runtime.walkers import Sample


class Watch:
    """The time between its making and `report`."""

    def __init__(self, crowd: Crowd, apps: list[RunningApp]) -> None:
        """`apps`: of the world, if it runs on this machine."""
        self._crowd = crowd
        self._apps = apps
        self._since = time.monotonic()
        self._samples = crowd.samples()
        self._used = self._look()
        crowd.take_gaps()

    def _look(self) -> dict[str, float]:
        used = {}
        for app in self._apps:
            try:
                used[app.name] = used_s(app.pid)
            except UsageError:
                continue  # it has ended, or this system has no /proc
        return used

    def report(self) -> dict[str, Any]:
        """What has happened since."""
        seconds = time.monotonic() - self._since
        now, used = self._crowd.samples(), self._look()
        found = seen(list(zip(self._samples, now, strict=True)), self._crowd.take_gaps())
        shares = {name: (spent - self._used[name]) / seconds for name, spent in used.items() if name in self._used}
        kib = {app.name: resident_kib(app.pid) for app in self._apps if app.name in used}
        return {
            "seconds": round(seconds, 1),
            **found,
            **({"share_of_a_core": shares, "memory_kib": kib} if self._apps else {}),
        }


def seen(pairs: list[tuple[Sample, Sample]], gaps_ms: Counter[int]) -> dict[str, Any]:
    """Of two samples of each process of a crowd, and the gaps between them."""
    rates, gaps = Rates(pairs), sorted(gaps_ms.items())
    trips = sorted(trip for _, after in pairs for trip in after.round_trips_ms)
    share = rates.per_s(lambda each: each.cpu_s)
    walking = sum(after.walking for _, after in pairs)
    why: Counter[str] = Counter()
    for _, after in pairs:
        why.update(after.why)
    return {
        "walking": walking,
        "on_their_way": sum(after.on_their_way for _, after in pairs),
        "out": sum(after.out for _, after in pairs),
        "why": dict(why.most_common(5)),
        "moves_per_s": rates.per_s(lambda each: each.moves),
        "datagrams_in_per_s": rates.per_s(lambda each: each.tally.packets_received),
        "bytes_in_per_s": rates.per_s(lambda each: each.tally.bytes_received),
        "datagrams_out_per_s": rates.per_s(lambda each: each.tally.packets_sent),
        "packets_missed": rates.total(lambda each: each.tally.packets_missed),
        "packets_overrun": rates.total(lambda each: each.overruns),
        "resent_bytes": rates.total(lambda each: each.tally.resent_bytes),
        "gaps_over_250_ms": rates.total(lambda each: each.tally.gaps),
        "gap_p50_ms": percentile(gaps, 0.5),
        "gap_p99_ms": percentile(gaps, 0.99),
        "gap_max_ms": gaps[-1][0] if gaps else None,
        "round_trip_p50_ms": trips[len(trips) // 2] if trips else None,
        "round_trip_p99_ms": trips[int(0.99 * (len(trips) - 1))] if trips else None,
        "crowd_share_of_a_core": share,
        **({"walkers_per_core": round(walking / share)} if walking and share else {}),
    }
