"""Everything of a real that travels has one entry, which packs it and unpacks it."""

from __future__ import annotations

import msgspec

from terrazzo.cell.migration.arrival import Arrivals
from terrazzo.cell.migration.travelling import WHOLE, TravelEntry
from terrazzo.wire.pairs.cell_cell import Offload
from tests.cell.land import Land


def parts() -> tuple[TravelEntry, ...]:
    return Land(1)[0].travelling.parts


def test_each_field_of_offload_belongs_to_exactly_one_entry():
    covered = [*WHOLE, *(field for part in parts() for field in part.fields)]
    assert sorted(covered) == sorted(each.name for each in msgspec.structs.fields(Offload))


def test_entry_reads_each_field_that_it_packs():
    """What is packed and never read would be lost where the real arrives."""
    read: set[str] = set()

    class Noted:
        """An Offload that notes what is read of it."""

        def __init__(self, message: Offload) -> None:
            self._message = message

        def __getattr__(self, name: str) -> object:
            read.add(name)
            return getattr(self._message, name)

    land = Land(2, margin_m=0.0)
    land.create(1, -5.0, is_seen=True)
    begin = Arrivals.begin
    arrivals: Arrivals = land[1].offloads._arrivals
    vars(arrivals)["begin"] = lambda message: begin(arrivals, Noted(message))  # type: ignore[arg-type]
    land.put(1, 5.0)
    land.settle()
    assert land.home(1) == 1
    # The switchboard reads the mailbox, a ghost that is behind the past, and what holds an arrival `first`.
    assert read | {"mailbox", "past", "first"} == {each.name for each in msgspec.structs.fields(Offload)}
