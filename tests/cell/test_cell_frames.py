"""Mail for a real elsewhere finds its way through a cell that has only its ghost."""

from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import Count, LogEvent
from tests.cell.land import Land


def test_mail_for_a_ghosts_real_is_passed_on():
    land = Land()
    land.create(1, -10.0)
    land.create(2, 10.0)
    land.settle()
    assert (land.home(1), land.home(2)) == (0, 1)
    # A BaseApp without a place of 2 sends to the home of the caller's own real.
    land.base.switchboard.places[PartId(EntityId(2), Part.CELL)].app = land[0].me
    land.base.call(1, "poke", 3, caller=1, to=2)
    land.step(5)
    assert land.part(2).events.count(("poked", 3)) == 1
    assert land[0].switchboard.counts[LogEvent.ASTRAY] == 0
    assert land[0].switchboard.counts[Count.FORWARDED] > 0
