"""`terrazzo bench base`: how many clients one core's BaseApp sustains.

    the BaseApp    a real process, as `terrazzo run` starts it: real links, real doors; so are DBApp, LoginApp, managers
    the CellApp    a stand-in (`base_cell.py`): sends for each client what `terrazzo bench cell` counts
    the clients    a crowd (`runtime/crowd.py`): real logins, encryption and acknowledgements, a move a tick each

The number of clients grows in steps. Each step gives the processor time of the BaseApp (from /proc, so other programs
that share the machine do not count), and how many client-ticks it has served meanwhile: updates that the stand-in has
sent. From the steps a straight line is fitted: share of a core = intercept + slope * clients, where `clients` are
client-ticks a second / 10. `clients_per_core` is where this line reaches SHARE of a core. The steps end when the
BaseApp uses that much; where the machine's cores are too few for this, at the largest number that it can serve.

`lost` counts messages of the stand-in that did not reach their client, from one end to the other, whatever the channel
between them sent again; and datagrams of clients that the BaseApp's socket dropped. A move that a newer one replaces at
the BaseApp is not lost (`moves_merged`). `limit_ratio` compares the packets
a processor second of the BaseApp, in its largest step, with those of a bare compiled loop that receives, opens, seals
and sends as many packets of the same size in the same run.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from terrazzo._speed import COMPILED
from terrazzo.bench.base_stage import TICK_HZ, Fit, Say, Stage, Step, TooMany, fit, staged
from terrazzo.bench.session_limit import Bare, build
from terrazzo.wire.client.limits import OVERHEAD_BYTES

SHARE = 0.8
"""Of a core: 20 % head-room."""
FIRST_STEP = 50
STEPS_MAX = 5
CORES_SHARE = 0.9
"""Of all cores of the machine that all processes of the benchmark together may use."""
GROWTH_MAX = 4.0
BARE_CLIENTS = 2000
BARE_TICKS = 20
"""The best of so many counts for the bare loop."""
BEHIND = 0.95
"""The steps end when a smaller share of the clients than this is served in time: the machine has no more to give."""


async def measure(
    *, clients: int = 0, seconds: float = 8.0, ws_clients: int = 60, cores: float = 0.0, say: Say = lambda line: None
) -> dict[str, Any]:
    """The figures, and what explains them. With `clients`, steps up to so many instead of a search."""
    over_ws: list[Step] = []
    async with staged(seconds, say) as stage:
        await _climb(stage, clients, cores or CORES_SHARE * (os.cpu_count() or 1))
        over_udp = stage.take_steps()
        await stage.leave()
        if ws_clients:
            await _climb_ws(stage, ws_clients)
            over_ws = stage.take_steps()
    return report(over_udp, over_ws, bare_packets_per_cpu_s(over_udp[-1]))


def bare_packets_per_cpu_s(step: Step) -> float | str:
    """The packets a processor second of the bare compiled loop (`session_limit.py`), with packets as large as those of
    this step and as many clients, up to BARE_CLIENTS; or why there is no such loop here."""
    library = build()
    if isinstance(library, str):
        return library
    count = min(step.clients, BARE_CLIENTS)
    try:
        bare = Bare(library, count, round(step.bytes_up) + OVERHEAD_BYTES, round(step.bytes_down) + OVERHEAD_BYTES)
    except ValueError as problem:
        return str(problem)
    try:
        bare.tick()
        return 2 * count / min(bare.tick() for _ in range(BARE_TICKS))
    finally:
        bare.close()


def report(over_udp: list[Step], over_ws: list[Step], bare: float | str) -> dict[str, Any]:
    """The figures of these steps. A figure that was not measured is not there."""
    line, last = _line(over_udp), over_udp[-1]
    figures: dict[str, Any] = {
        **_sustained("clients_per_core", line),
        "datagrams_per_client_tick": (last.datagrams_up + last.datagrams_down) / 2,
        "lost": last.lost + sum(step.datagrams_dropped for step in over_udp),
    }
    if len(over_udp) > 1:
        figures["kib_per_client"] = fit([(step.clients, step.base_kib) for step in over_udp]).slope
    if over_ws:
        figures |= _sustained("ws_clients_per_core", _line(over_ws))
    packets_per_cpu_s = last.clients_served * TICK_HZ * (last.datagrams_up + last.datagrams_down) / last.base_share
    if not isinstance(bare, str):
        figures["limit_ratio"] = packets_per_cpu_s / bare
    return {
        "bench": "base",
        "compiled": COMPILED,
        "figures": figures,
        "fit": {
            "intercept": line.intercept,
            "slope_per_client": line.slope,
            "microseconds_per_client_and_tick": 1e6 * line.slope / TICK_HZ,
            "largest_share_measured": max(step.base_share for step in over_udp),
        },
        "packets_per_cpu_s": packets_per_cpu_s,
        "bare_packets_per_cpu_s": bare,
        **{f"step {step.clients}": msgspec.structs.asdict(step) for step in over_udp},
        **{f"WebSocket step {step.clients}": msgspec.structs.asdict(step) for step in over_ws},
    }


def _sustained(name: str, line: Fit) -> dict[str, int]:
    """Nothing when the steps were too small for a line that rises."""
    return {name: round(line.reaches(SHARE))} if line.slope > 0 else {}


def _line(steps: list[Step]) -> Fit:
    return fit([(step.clients_served, step.base_share) for step in steps])


async def _climb(stage: Stage, clients: int, cores: float) -> None:
    """Steps until the BaseApp uses SHARE of a core, or all processes together use what the machine has."""
    steps: list[Step] = []
    try:
        while (count := _next(steps, clients, cores)) > stage.count:
            await stage.add(count - stage.count)
            steps.append(await stage.measure())
    except TooMany as problem:
        if not steps:
            raise
        stage.say(f"The steps end here: {problem}")


def _next(steps: list[Step], clients: int, cores: float) -> int:
    """How many clients the next step has; not more than the last one when there is none."""
    if clients:
        return ((clients + 1) // 2, clients, 0)[min(len(steps), 2)]
    if not steps:
        return FIRST_STEP
    last = steps[-1]
    room = min(SHARE / last.base_share, cores / (last.base_share + last.stand_in_share + last.crowd_share))
    if last.clients_served < BEHIND * last.clients or room <= 1.05 or len(steps) == STEPS_MAX:
        return 0
    return max(round(last.clients * min(room, GROWTH_MAX)), last.clients + 1)


async def _climb_ws(stage: Stage, clients: int) -> None:
    for share in (0.5, 1.0):
        await stage.add(round(clients * share) - stage.count, is_udp=False)
        await stage.measure(is_udp=False)
