"""The plaza of the examples as the fight scenario runs it: the classes of the example, observed.

`Watched` is laid over the example's cell parts. It does not change the fight: it reports to the judge, and it adds
activity: the fighters strike entities that are near, walk along borders (`sim/scenarios/seamless/walking.py`), jump,
and now and then end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from terrazzo.cell import Cell
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame, load_game
from terrazzo.schema.model import Side
from terrazzo.sim.scenarios.fight.judge import FightJudge
from terrazzo.sim.scenarios.seamless.shape import Shape

PLAZA = Path(__file__).parents[5] / "examples" / "plaza"
PULSE = 100
"""The number of a timer that the example does not use."""
STRENGTH = re.compile(r"It has struck (\d+) times; (\d+) blows")

if TYPE_CHECKING:

    class ExampleCell(Cell):
        """For type checkers: the example's cell parts, which exist only when the example is loaded."""

        def strike_nearest(self) -> None: ...
        def swing(self, other: Any) -> None: ...
        def land(self, blow: Any) -> None: ...
        def give_up(self, blow: Any) -> None: ...
        def be_struck(self, by: Any, number: int, power: int) -> None: ...
        def blow_felt(self, number: int, hurt: int, is_dead: bool) -> None: ...
        async def size_up(self, target: int) -> None: ...
        def tell_strength(self) -> tuple[int, int]: ...
        def tell(self, words: str) -> None: ...

else:
    ExampleCell = object


class Watched(ExampleCell):
    """The observing class that is laid over a fighter's cell part."""

    judge: FightJudge

    def on_created(self) -> None:
        """A new body."""
        self.judge.rise(self.id)
        super().on_created()
        self._wind()

    def _wind(self) -> None:
        self.timer(self.judge.rng(self.id).uniform(0.02, self.judge.shape.pulse_s), number=PULSE)

    def on_timer(self, number: int) -> None:
        """The timer of the scenario, or one of the example."""
        if number == PULSE:
            if self.judge.is_working:
                self._wind()
                self.live()
            return
        super().on_timer(number)
        if number == self.judge.rules.RISE:
            self.judge.rise(self.id)

    def live(self) -> None:
        """Makes the fighter strike, walk, jump or end."""
        rng = self.judge.rng(self.id)
        what = rng.random()
        if what < 0.5:
            self.strike_nearest()
        elif what < 0.8:
            length = rng.choice([0.5, 2.0, 6.0])
            x, z = self.judge.gait(self.id).stride(self.space, self.position.x, self.position.z, length)
            self.position = (x, 0.0, z)
        elif what < 0.84:
            self.teleport(*self.judge.entry(self.id))
        elif what < 0.85 and not self.has_client:
            self.destroy()

    def _stroll(self) -> None:
        """Walks along borders; the example would walk anywhere."""
        if self.judge.is_working:
            x, z = self.judge.gait(self.id).goal(self.space)
            self.move_to((x, 0.0, z), 6.0)

    # The fight.

    @property
    def _home(self) -> str:
        return str(self._body.core.me)

    def swing(self, other: Any) -> None:
        """Reports that a blow is begun."""
        super().swing(other)
        self.judge.begin(self.id, self.blows[-1].number, other.id, self._home)

    def land(self, blow: Any) -> None:
        """Reports that a blow lands."""
        self.judge.land(self.id, blow.number, self._home)
        super().land(blow)

    def give_up(self, blow: Any) -> None:
        """Reports that a blow is given up."""
        self.judge.give_up(self.id, blow.number)
        super().give_up(blow)

    def be_struck(self, by: Any, number: int, power: int) -> None:
        """Reports that a blow is felt."""
        before = self.health
        super().be_struck(by, number, power)
        self.judge.feel(by.id, number, self.id, before, self.health)

    def blow_felt(self, number: int, hurt: int, is_dead: bool) -> None:
        """Reports that a blow is answered."""
        before = self.hits
        super().blow_felt(number, hurt, is_dead)
        self.judge.hear(self.id, number, hurt, self.hits - before, self._home)

    async def size_up(self, target: int) -> None:
        """Reports the end of a question, also if the method is cancelled."""
        question = self.judge.ask(self.id, target)
        try:
            await super().size_up(target)
        finally:
            self.judge.end(self.id, question)

    def tell_strength(self) -> tuple[int, int]:
        """Reports that the entity was asked."""
        answer = super().tell_strength()
        self.judge.say(self.id, answer)
        return answer

    def tell(self, words: str) -> None:
        """Reports the answer to a question."""
        found = STRENGTH.match(words)
        if found is not None:
            self.judge.learn(self.id, (int(found[1]), int(found[2])))
        super().tell(words)


@cache
def plaza() -> LoadedGame:
    """The example, as it is in the repository."""
    if not PLAZA.is_dir():
        raise UsageError("the fight scenario plays examples/plaza, which is not there: run it in a clone")
    return load_game(PLAZA)


def rules() -> ModuleType:
    """The module of the example that has the fight."""
    living = next(each for each in plaza().parts["Avatar"][Side.CELL].__mro__ if each.__name__ == "LivingCell")
    return sys.modules[living.__module__]


def game_of(judge: FightJudge, shape: Shape, on_ready: Callable[[Any], None]) -> LoadedGame:
    """The example with this judge."""
    example = plaza()
    parts = {name: dict(sides) for name, sides in example.parts.items()}
    for name in ("Avatar", "Creature"):
        parts[name][Side.CELL] = _watched(parts[name][Side.CELL], judge)
    policy = replace(
        example.policy, on_ready=on_ready, area_radius_m=shape.area_radius_m, ghost_distance_m=shape.ghost_m
    )
    return LoadedGame(example.schema, policy, parts)


def _watched(part: type[Any], judge: FightJudge) -> type[Any]:
    return type(part.__name__, (Watched, part), {"judge": judge})
