"""The judging of what one client of the skeleton scenario is told (P4).

no message is a violation                             the story fits together (`sync.view`)
the values of a property, as they are seen            come in the real's order, none invented, none twice
calls of a client method                              in order, once, and none missing while the speaker is in view
at rest                                               everything in the area is there and equal, nothing else is
"""

from __future__ import annotations

from terrazzo.cell.real import Real
from terrazzo.cell.witness import HYSTERESIS_M
from terrazzo.schema.model import Property
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.skeleton_truth import Truth
from terrazzo.sync.view import View
from terrazzo.sync.view_events import Called, CellPlayer, Changed, Entered, Event, Seen, Violation

WAYS = {"on_said": "said", "on_waved": "waved"}
PLACE_M = 1e-3
"""Places travel as 32-bit floats."""


class ViewJudge:
    """Follows one session of one client."""

    def __init__(self, name: str, truth: Truth) -> None:
        self.name = name
        self._truth = truth
        self._at: dict[tuple[int, str], int] = {}
        """How far in the row of a property's values this client is."""
        self._heard: dict[tuple[int, str], int] = {}
        self._is_fresh: set[tuple[int, str]] = set()
        """Calls of a speaker that has just come into view: what it called before is not for this client."""

    def on_event(self, event: Event, own: int | None) -> None:
        """The client was told something."""
        if isinstance(event, Violation):
            check(False, "P4", f"{self.name}: {event.fault.value}: {event.text}", self.name, event.entity)
        elif isinstance(event, (Entered, CellPlayer)):
            self._on_appeared(event.entity, is_own=event.entity.id == own)
        elif isinstance(event, Changed):
            self._on_value(event.entity, event.name, is_new=True)
        elif isinstance(event, Called):
            self._on_called(event)

    def _on_appeared(self, seen: Seen, *, is_own: bool) -> None:
        for each in shown(seen, is_own=is_own):
            self._on_value(seen, each.name, is_new=False)
        self._is_fresh.update((seen.id, method) for method in WAYS)

    def _on_value(self, seen: Seen, name: str, *, is_new: bool) -> None:
        values = self._truth.values.get((seen.id, name))
        if values is None:
            return  # of the base part
        value, key = encoded(seen, name), (seen.id, name)
        start = self._at[key] + is_new if key in self._at else 0
        try:
            self._at[key] = values.index(value, start)
        except ValueError:
            old = "an old or repeated" if value in values else "an invented"
            what = f"{self.name} was told {old} value of {seen}.{name}: {seen.state[name]!r}"
            check(False, "P4", what, self.name, seen.id)

    def _on_called(self, event: Called) -> None:
        name, number = event.method.name, int(event.args[0])
        key = (event.entity.id, name)
        last = self._heard.get(key, 0)
        fits = number > last if key in self._is_fresh else number == last + 1
        what = f"{self.name} heard {name} {number} of {event.entity} after {last}"
        check(fits, "P4", what, self.name, event.entity.id)
        self._is_fresh.discard(key)
        self._heard[key] = number

    # At rest.

    def unrest(self, view: View, real: Real) -> str | None:
        """How the view differs from what it should be."""
        own = view.player
        assert own is not None
        problem = self._difference(own, real, is_own=True)
        if problem is not None:
            return problem
        (x, _, z), radius = real.body.position, real.body.app.game.policy.area_radius_m
        reals = [each for each in self._truth.reals() if each.body.space.id == real.body.space.id]
        there: dict[int, Real] = {each.body.id: each for each in reals}
        for entity, other in there.items():
            away = max(abs(other.body.position[0] - x), abs(other.body.position[2] - z))
            if other is not real and away <= radius and entity not in view.others:
                return f"{self.name} does not see entity {entity}, {away:.1f} m away"
            if entity in view.others and away > radius + HYSTERESIS_M:
                return f"{self.name} still sees entity {entity}, {away:.1f} m away"
        for entity, seen in view.others.items():
            if entity not in there:
                return f"{self.name} sees entity {entity}, which is not there"
            problem = self._difference(seen, there[entity], is_own=False)
            if problem is not None:
                return problem
        return None

    def _difference(self, seen: Seen, real: Real, *, is_own: bool) -> str | None:
        if any(abs(a - b) > PLACE_M for a, b in zip(seen.position, real.body.position, strict=True)):
            return f"{self.name} sees {seen} at {seen.position}, it is at {real.body.position}"
        for each in shown(seen, is_own=is_own):
            values = self._truth.values.get((seen.id, each.name))
            if values is not None and values[-1] != encoded(seen, each.name):
                return f"{self.name} sees an old {each.name} of {seen}"
        for name, way in WAYS.items():
            made, heard = self._truth.made.get((way, seen.id, seen.id), 0), self._heard.get((seen.id, name))
            is_for_it = not is_own or name == "on_said"
            if is_for_it and (seen.id, name) not in self._is_fresh and heard != made:
                return f"{self.name} has heard {heard} of {made} calls {name} of {seen}"
        return None


def shown(seen: Seen, *, is_own: bool) -> list[Property]:
    """The properties of an entity that this client gets."""
    audiences = [(each, each.flags.value) for each in seen.state.layout.properties]
    return [each for each, audience in audiences if (audience.own_client if is_own else audience.other_clients)]


def encoded(seen: Seen, name: str) -> bytes:
    """A value as the client has it."""
    layout = seen.state.layout
    return layout.codecs[layout.index[name]].encode(seen.state[name])
