"""The fight of the plaza: across a border, and when a fighter leaves in mid-blow."""

from __future__ import annotations

import re

import pytest

from terrazzo.game import Game
from tests.examples.visit import Town, Visit

BEASTS = 1
SWING_S, ANSWER_S, RISE_S, POWER = 0.5, 5.0, 6.0, 20
WEST, EAST = -2.0, 2.0
"""Places on both sides of the border between the two cells: near enough for a blow, and far enough to stay in their
cells.
"""


class Duel:
    """Ann in the western cell, Bob, on the side of the beasts, in the eastern; between them the border."""

    def __init__(self) -> None:
        self.town = Town(cells=2)
        self.ann, self.bob = Visit(self.town, "ann"), Visit(self.town, "bob")
        self.bob.player.cell.take_side(BEASTS)
        self.put(self.ann, 30.0 * WEST)
        self.put(self.bob, 30.0 * EAST)
        self.wait(1.0)
        self.put(self.ann, WEST)
        self.put(self.bob, EAST)
        self.wait(1.0)
        assert self.home(self.ann) != self.home(self.bob)
        self.forget()

    def wait(self, seconds: float) -> None:
        self.ann.wait(seconds)

    def forget(self) -> None:
        self.ann.events.clear()
        self.bob.events.clear()

    def home(self, who: Visit):
        [app] = [app for app in self.town.cluster.cell_apps if who.player.id in app.reals]
        return app

    def real(self, who: Visit):
        return self.home(who).reals[who.player.id]

    def part(self, who: Visit):
        return self.real(who).part

    def put(self, who: Visit, x: float) -> None:
        """The server puts a body somewhere: it may find itself in the other cell at the end of the tick."""
        real = self.real(who)
        self.home(who).core.run(real.body, "put", lambda: setattr(real.part, "position", (x, 0.0, 60.0)))

    def destroy(self, who: Visit) -> None:
        real = self.real(who)
        self.home(who).core.run(real.body, "destroy", real.part.destroy)

    def strike(self, seconds: float = SWING_S + 1.0) -> None:
        assert self.ann.player.cell.strike(self.bob.player.id)
        self.wait(seconds)

    def health(self, who: Visit):
        """The value in all copies: the real, the own client, and the other's."""
        seen = {
            int(self.part(who).health),
            int(who.player.health),
            *(part.health for part in self.ann.app.parts.values() if part.id == who.player.id),
            *(part.health for part in self.bob.app.parts.values() if part.id == who.player.id),
        }
        [health] = seen
        return health

    def check_rest(self) -> None:
        assert [list(self.part(who).blows) for who in (self.ann, self.bob)] == [[], []]
        assert self.town.errors == self.ann.faults() == self.bob.faults() == []


@pytest.fixture
def duel() -> Duel:
    return Duel()


def test_the_game_is_as_large_as_a_blow(duel):
    policy: Game = duel.town.cluster.game.policy
    assert policy.ghost_distance_m > 5.0, "whoever can be struck must be known here"


def test_a_blow_across_the_border(duel):
    duel.strike(0.3)
    assert duel.health(duel.bob) == 100, "it takes half a second to land"
    assert [blow.target.id for blow in duel.part(duel.ann).blows] == [duel.bob.player.id]
    duel.wait(1.2)
    assert duel.health(duel.bob) == 100 - POWER
    assert duel.ann.told() == ["You hurt it by 20."]
    assert (duel.part(duel.ann).hits, duel.ann.player.hits) == (1, 1)
    duel.check_rest()


@pytest.mark.parametrize(("name", "x"), [("bob", WEST * 20), ("ann", EAST * 20)], ids=["target", "attacker"])
def test_blow_is_felt_when_a_fighter_changes_cells_in_mid_blow(duel, name, x):
    who = getattr(duel, name)
    duel.strike(0.2)
    before = duel.home(who)
    duel.put(who, x)
    duel.wait(1.5)
    assert duel.home(who) is not before
    assert duel.health(duel.bob) == 100 - POWER, "it was begun in reach, and is felt where the target is now"
    assert duel.ann.told() == ["You hurt it by 20."], "its record and its timer went along"
    assert duel.part(duel.ann).hits == 1
    duel.check_rest()


def test_the_target_is_gone(duel):
    duel.strike(0.2)
    duel.destroy(duel.bob)
    duel.wait(SWING_S + ANSWER_S - 0.5)
    assert [blow.has_landed for blow in duel.part(duel.ann).blows] == [True]
    assert duel.ann.told() == []
    duel.wait(1.0)
    assert duel.ann.told() == ["You strike the air."]
    assert list(duel.part(duel.ann).blows) == []
    assert duel.town.errors == []


def test_blow_that_is_plainly_wrong_is_not_begun(duel):
    duel.ann.player.cell.strike(999_999)
    duel.wait(0.5)
    duel.ann.player.cell.strike(duel.ann.player.id)
    duel.wait(0.5)
    duel.put(duel.bob, EAST * 5)
    duel.wait(1.0)
    duel.strike()
    duel.put(duel.bob, EAST)
    duel.bob.player.cell.take_side(0)
    duel.wait(1.0)
    duel.strike()
    duel.ann.player.cell.strike_nearest()
    duel.wait(1.0)
    *told, last = duel.ann.told()
    assert told == [
        "There is nobody to strike.",
        "There is nobody to strike.",
        "It is out of reach: 12.0 m away, and you reach 5 m.",
        "It is on your side.",
    ]
    assert re.fullmatch(r"It is out of reach: \d\d\.\d m away, and you reach 5 m\.", last), "the nearest is a creature"
    assert duel.health(duel.bob) == 100
    duel.check_rest()


def test_the_fifth_blow_kills_and_the_dead_rise(duel):
    for _ in range(4):
        duel.strike()
    duel.bob.player.cell.strike(duel.ann.player.id)
    duel.strike(SWING_S + 0.3)
    assert duel.health(duel.bob) == 0
    duel.wait(1.0)
    duel.strike()
    duel.bob.player.cell.strike_nearest()
    duel.wait(1.0)
    assert duel.ann.told() == ["You hurt it by 20."] * 4 + ["You killed it.", "It is dead already."]
    assert duel.bob.told()[-1] == "You are dead."
    assert duel.part(duel.ann).hits == 5
    duel.wait(RISE_S)
    assert duel.health(duel.bob) == 100
    duel.strike()
    assert duel.health(duel.bob) == 100 - POWER
    duel.check_rest()


def test_an_answer_that_comes_too_late_does_not_count(duel):
    real = duel.real(duel.ann)
    duel.home(duel.ann).core.run(real.body, "late", real.part.blow_felt, 77, 20, False)
    duel.wait(0.5)
    assert (duel.part(duel.ann).hits, duel.ann.told()) == (0, [])


def test_number_of_blows_under_way_is_limited(duel):
    real, other = duel.real(duel.ann), duel.part(duel.ann).entity(duel.bob.player.id)
    for _ in range(8):
        duel.home(duel.ann).core.run(real.body, "swing", real.part.swing, other)
    duel.strike(0.2)
    assert duel.ann.told() == ["Not so fast."]
    duel.wait(1.5)
    assert len(duel.ann.told()) == 9
    assert duel.part(duel.ann).hits == 5
    duel.wait(ANSWER_S)
    duel.check_rest()


# Questions.


def test_fighter_gets_the_strength_of_another(duel):
    duel.strike()
    duel.ann.events.clear()
    duel.bob.player.cell.size_up(duel.ann.player.id)
    duel.ann.player.cell.size_up(999_999)
    duel.wait(1.0)
    assert duel.bob.told() == ["It has struck 1 times; 1 blows were felt."]
    assert duel.ann.told() == ["There is nobody to look at."]
    duel.check_rest()


def test_fighter_that_moves_while_it_asks_gets_no_answer(duel):
    home, real = duel.home(duel.ann), duel.real(duel.ann)
    home.core.run(real.body, "size_up", real.part.size_up, duel.bob.player.id)
    duel.put(duel.ann, EAST * 20)
    duel.wait(2.0)
    assert duel.home(duel.ann) is not home
    assert duel.ann.told() == ["You cannot tell how strong it is."]
    duel.check_rest()


# Creatures.


def test_a_creature_strikes_back_and_another_comes_for_one_that_was_killed(duel):
    creature = min(
        (
            real
            for app in duel.town.cluster.cell_apps
            for real in app.reals.values()
            if real.body.kind.name == "Creature"
        ),
        key=lambda real: real.body.id,
    ).body.id

    def part():
        [found] = [app.reals[creature].part for app in duel.town.cluster.cell_apps if creature in app.reals]
        return found

    def approach() -> None:
        real = duel.real(duel.ann)
        x, _, z = part().position
        duel.home(duel.ann).core.run(real.body, "put", lambda: setattr(real.part, "position", (x + 1.0, 0.0, z)))
        duel.wait(0.3)

    for _ in range(5):
        approach()
        duel.ann.player.cell.strike(creature)
        duel.wait(1.5)
    assert duel.ann.told().count("You hurt it by 20.") == 4
    assert duel.ann.told()[-1] == "You killed it."
    assert duel.part(duel.ann).health == 100 - 4 * POWER
    duel.wait(2.0)
    assert (part().health, list(part().blows), part().side) == (100, [], BEASTS)
    duel.check_rest()
