"""Witnesses that arrive: by an offload when the ground moves, or with what might have been packed elsewhere."""

from __future__ import annotations

from terrazzo.cell.client.witness import Witness
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from tests.cell.land import MANAGER, Land
from tests.cell.screen import Screen

# A watcher at x = 70 on cell 1 sees entity 2, with its real at x = -1 on cell 0. Then a border jumps over the watcher,
# so that it goes on at cell 2: the ground moves, not the player.


def watching(ghost_distance_m: float) -> tuple[Land, Screen]:
    land = Land(3, ghost_distance_m=ghost_distance_m)
    screen = land.create(1, 70.0, is_seen=True)
    land.create(2, -1.0)
    land.settle()
    assert screen.events == [("player",), ("enter", 2)]
    return land, screen


def move_ground(land: Land, *cells: int) -> None:
    tree = land.tree.move_border((1,), 50.0)
    for index in cells:
        land[index].on_message(MANAGER, SpaceTree(1, "plain", 2, tree.pack()))


def arrive(land: Land, cell: int = 0, *, change=lambda packed: packed, jump_from: int | None = None) -> Witness:
    """Entity 1 arrives anew where it is, with what its witness packed or what might have been packed elsewhere."""
    real = land[cell].reals[1]
    packed = change(land.witness(1).pack())
    land.witness(1).end()
    land[cell].clients.unpack(real, packed)
    witness = land.witness(1)
    if jump_from is not None:
        witness.jump(jump_from)
    return witness


def with_seen(entity: int, **changes):
    """A change for `arrive`: another entry of this entity."""

    def change(packed):
        return packed._replace(
            seen=tuple(each._replace(**changes) if each.entity == entity else each for each in packed.seen)
        )

    return change
