"""Compares what two trees send: for moves and renames, every byte on every simulated link and path must stay the same.

    make traces                 writes build/traces.json for this tree (100 seeds of each scenario)
    make traces-compare         runs the same worlds again and names each one that sends anything else

A trace is a hash over the time, the two ends and the bytes of each frame and datagram of one world. Names of classes,
methods, log events and files are not in it; texts that travel in messages (reasons, errors) are.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.sim.network import Network
from terrazzo.sim.runner import Order, run
from terrazzo.sim.world import FaultLevel

SCENARIOS = ("channel", "seamless", "sync", "fight")
FIRST = 50_000


def trace_of(order: Order) -> tuple[str, str]:
    """The name of a world, and the hash of all that was sent in it."""
    digest = hashlib.blake2b(digest_size=16)
    plain = Network._push, Network.send_datagram

    def push(network: Any, wire: Any, word: Any) -> None:
        digest.update(f"{network._clock.now!r} {wire.place} {wire.far.place} {word[0]} ".encode() + word[1])
        plain[0](network, wire, word)

    def send_datagram(network: Any, source: str, target: str, data: bytes) -> None:
        digest.update(f"{network._clock.now!r} {source} {target} ".encode() + data)
        plain[1](network, source, target, data)

    with patch.object(Network, "_push", push), patch.object(Network, "send_datagram", send_datagram):
        failure = run(order).failure
    return order.command(), digest.hexdigest() + (f" {failure.promise}" if failure else "")


def traces(seeds: int) -> dict[str, str]:
    """The traces of so many seeds of each scenario, a third of them without faults."""
    orders = [
        Order(scenario, FIRST + number, FaultLevel.NONE if number % 3 == 0 else FaultLevel.HARSH)
        for scenario in SCENARIOS
        for number in range(seeds)
    ]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        return dict(pool.imap(trace_of, orders, chunksize=4))


def main(words: list[str]) -> int:
    """`write FILE SEEDS` or `compare FILE`."""
    act, file, *rest = words
    if act == "write":
        found = traces(int(rest[0]))
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(json.dumps(found, indent=1))
        print(f"{len(found)} worlds written to {file}")
        return 0
    before = json.loads(Path(file).read_text())
    after = traces(len(before) // len(SCENARIOS))
    changed = [name for name, trace in before.items() if after.get(name) != trace]
    for name in changed:
        print(f"sends something else: {name}")
    print(f"{len(before) - len(changed)} of {len(before)} worlds send the same bytes at the same times")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
