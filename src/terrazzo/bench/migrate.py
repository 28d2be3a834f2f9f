"""`terrazzo bench migrate`: what it costs to move a player from one CellApp to another, and whether the player notices.

Two CellApps with a border through a crowd (`cell_world.py`): every entity has a client and 62 others in its area.

**Cost.** Entities at the border, which have a ghost on the other side, are sent over and back again and again, a batch
at a time. Counted is the processor time of both CellApps for all of it: the last step and the last messages to the
client, packing, encoding; bundles, decoding, the mailbox, the arrival, the messages to each other and to other ghosts.
`offloads_per_cpu_s`; and `bytes_per_offload`, the message itself, of which `link_ratio` goes over the link (compressed
where that pays, `cell/core/parcels.py`).

**Silence.** Then the world runs on while the border moves to and fro, 20 m each time, over the entities there. Each
client counts the ticks in which it gets nothing at all: `silent_ticks_max` is the longest silence of any that moved.
It is of the move alone: the CellApps are not given the time of their ticks, so that no client is sent less because
this machine is slow (`terrazzo bench cell` is about that).
"""

from __future__ import annotations

import gc
import time
from typing import Any

from terrazzo._speed import COMPILED
from terrazzo.bench.cell_peers import SPACE
from terrazzo.bench.cell_world import MANAGER, World
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.real import Real
from terrazzo.errors import UsageError
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import Offload
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from terrazzo.world.rect import Axis

SETTLE_TICKS = 50
AT_THE_BORDER_M = 5.0
"""An entity that is so near has the same entities in its area on both sides."""
SWING_M = 10.0
SWING_TICKS = 10


def measure(clients: int = 1500, rounds: int = 100, ticks: int = 80, seed: int = 1) -> dict[str, Any]:
    """The figures, and what explains them."""
    gc.collect()
    world = World(clients, cells=2, seed=seed, is_limited=False, offload_margin_m=0.0)
    world.settle(SETTLE_TICKS)
    cost = _cost(world, rounds)
    world.settle(SETTLE_TICKS)
    silence = _silence(world, ticks)
    return {
        "bench": "migrate",
        "compiled": COMPILED,
        "figures": {
            "offloads_per_cpu_s": cost.pop("offloads_per_cpu_s"),
            "bytes_per_offload": cost.pop("bytes_per_offload"),
            "silent_ticks_max": silence.pop("silent_ticks_max"),
        },
        "cost": cost,
        "silence": silence,
    }


# Cost.


def _cost(world: World, rounds: int) -> dict[str, Any]:
    here, there = world.cells
    axis, border = _border(world)
    batch = [real for real in here.reals.values() if abs(border - real.body.position[2 * axis]) <= AT_THE_BORDER_M]
    batch = [real for real in batch if there.me in real.ghosts and real.witness is not None]
    if not batch:
        raise UsageError("nobody stands at the border: take more clients")
    around = [len(real.witness.entities()) for real in batch if real.witness is not None]
    entities = [real.body.id for real in batch]
    count, sizes, spent = 0, [], 0.0
    for _ in range(rounds):
        for source, target in ((here, there), (there, here)):
            reals = [source.reals[entity] for entity in entities]
            spent += _send_over(source, target, reals)
            count += len(reals)
            sizes += [len(REGISTRY.encode(source.offloads.kept[entity].message)) for entity in entities]
            spent += _carry(target, source)  # the confirmations
    gauge = here.parcels.gauges[Offload, batch[0].body.kind.schema.type_id]
    return {
        "offloads_per_cpu_s": count / spent,
        "bytes_per_offload": sum(sizes) / len(sizes),
        "link_ratio": round(gauge.packed / gauge.plain, 3) if gauge.pays else 1.0,
        "offloads": count,
        "batch": len(entities),
        "around": sum(around) / len(around),
        "microseconds_per_offload": 1e6 * spent / count,
    }


def _send_over(source: CellApp, target: CellApp, reals: list[Real]) -> float:
    """Processor time until they have all begun on the other side."""
    started = time.process_time()
    for real in reals:
        source.offloads.offload(real, target.me)
    spent = time.process_time() - started + _carry(source, target)
    missing = [real for real in reals if real.body.id not in target.reals]
    assert not missing, f"{len(missing)} have not arrived"
    return spent


def _carry(source: CellApp, target: CellApp) -> float:
    """Processor time until what one has for the other is there. What it has for BaseApps is lost; it is sent again."""
    started = time.process_time()
    bundles = [bundle for peer, several in source.outbox.drain() if peer == target.me for bundle in several]
    for bundle in bundles:
        for message in REGISTRY.decode_bundle(bundle):
            target.on_message(source.me, message)  # type: ignore[arg-type]  # nothing is refused here
    return time.process_time() - started


# Silence.


def _silence(world: World, ticks: int) -> dict[str, Any]:
    _, border = _border(world)
    homes, moves = _homes(world), dict.fromkeys(world.walkers, 0)
    silent, longest = dict.fromkeys(world.walkers, 0), dict.fromkeys(world.walkers, 0)
    for tick in range(ticks):
        if tick % SWING_TICKS == 0:
            _move_border(world, border + (SWING_M if tick // SWING_TICKS % 2 else -SWING_M))
        for carrier in world.carriers:
            carrier.heard.clear()
        world.tick(may_be_late=False)
        heard = set().union(*(carrier.heard for carrier in world.carriers))
        for entity in world.walkers:
            silent[entity] = 0 if entity in heard else silent[entity] + 1
            longest[entity] = max(longest[entity], silent[entity])
        now = _homes(world)
        for entity, home in now.items():
            moves[entity] += homes.get(entity, home) != home
        homes |= now
    movers = [entity for entity, count in moves.items() if count]
    return {
        "silent_ticks_max": max((longest[entity] for entity in movers), default=0),
        "moves": sum(moves.values()),
        "players_moved": len(movers),
        "ticks": ticks,
    }


def _homes(world: World) -> dict[int, int]:
    return {entity: index for index, cell in enumerate(world.cells) for entity in cell.reals}


def _border(world: World) -> tuple[Axis, float]:
    (_, node, _), *_ = world.tree.nodes()
    return node.axis, node.position


def _move_border(world: World, position: float) -> None:
    world.tree = world.tree.move_border((), position)
    for cell in world.cells:
        version = cell.spaces[SPACE].version + 1
        cell.on_message(MANAGER, SpaceTree(SPACE, "plain", version, world.tree.pack()))
