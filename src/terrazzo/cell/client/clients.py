"""The clients of the reals of one CellApp: a client is attached to a real, detached from it, or arrives with it."""

from __future__ import annotations

from terrazzo.cell.client.aliases import Aliases
from terrazzo.cell.client.budget import Budget
from terrazzo.cell.client.moves import ClientMoves
from terrazzo.cell.client.sent import LEFT_S, ClientRecord
from terrazzo.cell.client.space_data import greet
from terrazzo.cell.client.witness import Around, Witness
from terrazzo.cell.core.account import DESCRIPTION
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import FRESH_MOVER, Real
from terrazzo.sync.protocol import encode_cell_player
from terrazzo.sync.riding import encode_ride
from terrazzo.wire.pairs.cell_cell import PackedWitness


class Clients:
    """Makes and ends the witnesses of one CellApp."""

    def __init__(self, core: Core, around: Around, moves: ClientMoves) -> None:
        self._core = core
        self._around = around
        self._moves = moves
        self._witnesses: list[Witness] | None = None
        """None: one has begun or ended since they were listed."""

    def witnesses(self) -> list[Witness]:
        """Those of all reals, in the order of the reals; the same list as long as they are the same."""
        if self._witnesses is None:
            found = (witness_of(real) for real in self._core.reals.values())
            self._witnesses = [witness for witness in found if witness is not None]
        return self._witnesses

    def set_witness(self, real: Real, number: int, is_on: bool) -> None:
        """The base of a real has attached a client, or detached the one of this number."""
        witness = witness_of(real)
        self._witnesses = None
        if witness is not None and (is_on or witness.number <= number):
            self._moves.leave(real)
            witness.end()
            real.witness = None
        if is_on:
            real.mover = FRESH_MOVER._replace(number=real.mover.number)  # a proxy counts on over its clients
            real.witness = self._begin(real, number)
            greet(real)
            self._moves.enter(real)

    def _begin(self, real: Real, number: int) -> Witness:
        """A new client. The first message to it is what its own entity is at this moment."""
        body, policy, kind = real.body, self._core.game.policy, real.body.kind
        sent = ClientRecord(body, Aliases(), Budget(self._core.host.now - self._core.tick_s), self._around.tombstones)
        witness = Witness(body, number, policy.area_radius_m, policy.area_hysteresis_m, sent, self._around)
        row = kind.player_row(body.state)
        sent.add_own_message(
            DESCRIPTION, encode_cell_player(kind.schema, body.space.id, body.position, body.direction, row)
        )
        if body.ride is not None:
            sent.add_own_event(kind.event_of_ride(encode_ride(body.ride)))
        witness.watch(())
        return witness

    def unpack(self, real: Real, packed: PackedWitness | None) -> None:
        """The client of a real that has arrived goes on here, if it has one."""
        if packed is None:
            return
        self._witnesses = None
        body, now = real.body, self._core.host.now
        aliases = Aliases((seen.alias for seen in packed.seen), packed.resting)
        sent = ClientRecord(body, aliases, Budget(now, packed.deficit, True), self._around.tombstones)
        sent.left = {entity: (number, now + LEFT_S) for entity, number in packed.left}
        real.witness = Witness.unpack(body, packed, sent, self._around, now)
        self._moves.enter(real)

    def end(self, real: Real) -> None:
        """A real has ended here: its witness watches nothing any more."""
        witness = witness_of(real)
        if witness is not None:
            self._witnesses = None
            witness.end()


def witness_of(real: Real) -> Witness | None:
    """The witness of a real, if it has a client."""
    witness = real.witness
    assert witness is None or isinstance(witness, Witness)
    return witness
