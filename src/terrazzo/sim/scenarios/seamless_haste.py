"""Where nothing goes wrong and the ways are short, nothing waits until it is sent again (P2).

Half of the worlds without faults are such (`is_swift`). A base part knows where its cell part is, or was a moment ago,
and what comes to a former home is passed on from there. So what it says comes within a few ticks, whoever migrates. If
it took longer, the message was lost on its way, and what healed that was the sending again, after a second or more.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.sim.oracle import Broken

HASTE_S = 0.6
"""Several hops of a tick each; less than the time after which something is sent again."""


class Haste:
    """The calls of base parts to their cell parts."""

    def __init__(self, now: Callable[[], float], life: Callable[[int], int], *, is_swift: bool) -> None:
        self._now = now
        self._life = life
        self._is_swift = is_swift
        self._made: dict[tuple[int, int], tuple[float, int]] = {}
        """When each was made, and in which life of the cell part."""

    def make(self, entity: int, number: int) -> None:
        """A base part calls its cell part."""
        if self._is_swift:
            self._made[entity, number] = (self._now(), self._life(entity))

    def hear(self, entity: int, number: int) -> Broken | None:
        """The call has come; what is wrong with that."""
        made = self._made.pop((entity, number), None)
        if made is None or made[1] != self._life(entity) or self._now() <= made[0] + HASTE_S:
            return None
        late_s = self._now() - made[0]
        return Broken("P2", f"call {number} of base {entity} to its cell part came after {late_s:.1f} s", entity)
