"""The judge of the fight scenario: every blow, from its beginning until neither side has a record of it.

                          at the attacker                     at the target          at the attacker
    BEGUN ──0.5 s──▶ landed, once, never early ──▶ felt, once: it hurts or not ──▶ answered, once; counted if the
      │                                                                            record was still there
      └── the attacker is dead by then: given up    no answer for 5 s: given up, and never counted afterwards

At rest each blow is at its end, as far as both fighters lived: a blow that landed was felt, unless the target had no
body at some moment since then; a blow that was felt was answered, unless the attacker had none. No record is left, each
body has the health and the number of hits that the judge has recorded, and every awaited question came to an end: with
an answer of an entity that was asked, or without one. In worlds without faults, some of many questions are answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from terrazzo.cell.core.real import Real
from terrazzo.sim.oracle import Broken, check
from terrazzo.sim.scenarios.seamless.judge import Judge

EARLY_S = 1e-6
"""Times are measured by several clocks; they do not add up exactly."""
ASKED_MANY = 20
LATELY_S = 6.0
"""Where all paths are short a blow is felt within this time, even if the target ends and is made again meanwhile."""


@dataclass
class Struck:
    """One blow."""

    attacker: int
    life: int
    """The life of the attacker's body."""
    number: int
    target: int
    homes: list[str]
    """The CellApps of the attacker when the blow was begun, landed, answered."""
    begun_at: float
    landed_at: float | None = None
    felt_at: float | None = None
    hurt: int = 0
    is_answered: bool = False
    is_counted: bool = False
    is_given_up: bool = False

    def __str__(self) -> str:
        return f"blow {self.number} of {self.attacker} at {self.target}"


class FightJudge(Judge):
    """The record of all blows and questions of one world, and their checks."""

    rules: Any
    blows: dict[tuple[int, int], Struck]
    hits: dict[int, int]
    health: dict[int, int]
    asked: int
    told: int
    """Questions that came to an end …"""
    learnt: int
    """… and those that were answered."""

    def start(self, rules: Any) -> None:
        """Called before the world begins, with the module of the example that has the constants of the fight."""
        self.rules = rules
        self.blows, self.hits, self.health = {}, {}, {}
        self.asked = self.told = self.learnt = 0
        self._said: dict[int, dict[tuple[int, int], float]] = {}
        """The answers of each entity, and the time of the last one."""
        self._asks: dict[int, dict[int, tuple[int, float]]] = {}
        """The questions of each entity that have no end yet, by number: the entity that is asked, and since when."""

    # Questions.

    def ask(self, asker: int, target: int) -> int:
        """An entity asks another for its strength; returns the number of the question."""
        self.asked += 1
        self._asks.setdefault(asker, {})[self.asked] = (target, self.world.clock.now)
        return self.asked

    def say(self, target: int, answer: tuple[int, int]) -> None:
        """The entity answers."""
        self._said.setdefault(target, {})[answer] = self.world.clock.now

    def learn(self, asker: int, answer: tuple[int, int]) -> None:
        """The asker gets an answer: one that an entity has given since it was asked, to a question without an end."""
        self.learnt += 1
        said = ((self._said.get(target, {}).get(answer, -inf), since) for target, since in self._asks[asker].values())
        is_so = any(at >= since for at, since in said)
        self._check(is_so, f"{asker} was answered {answer}, which no entity that it asked has given", asker)

    def end(self, asker: int, question: int) -> None:
        """A question has come to its end, with an answer or without one."""
        self.told += 1
        del self._asks[asker][question]

    # Reports of the fighters.

    def rise(self, entity: int) -> None:
        """A fighter has a new body, or a dead one has stood up."""
        self.health[entity] = self.rules.HEALTH

    def begin(self, attacker: int, number: int, target: int, home: str) -> None:
        """A blow is begun."""
        key = (attacker, number)
        self._check(key not in self.blows, f"blow {number} of {attacker} is begun twice", attacker)
        life = self.life("cell", attacker)
        self.blows[key] = Struck(attacker, life, number, target, [home], self.world.clock.now)

    def land(self, attacker: int, number: int, home: str) -> None:
        """A blow lands."""
        blow = self._blow(attacker, number)
        early = blow.begun_at + self.rules.SWING_S - self.world.clock.now
        self._check(blow.landed_at is None, f"{blow} lands twice", attacker, blow.target)
        self._check(not blow.is_given_up, f"{blow} lands, but was given up", attacker, blow.target)
        self._check(early < EARLY_S, f"{blow} lands {early:.3f} s early", attacker, blow.target)
        blow.landed_at = self.world.clock.now
        blow.homes.append(home)

    def feel(self, attacker: int, number: int, target: int, before: int, after: int) -> None:
        """A blow is felt."""
        blow = self._blow(attacker, number)
        known = self.health.get(target)
        self._check(blow.landed_at is not None, f"{blow} is felt before it landed", attacker, target)
        self._check(blow.target == target, f"{blow} is felt by {target}", attacker, target)
        self._check(blow.felt_at is None, f"{blow} is felt twice", attacker, target)
        late = self.world.clock.now - (blow.landed_at or 0.0)
        is_late = self.shape.is_swift and late > LATELY_S
        self._check(not is_late, f"{blow} is felt {late:.1f} s after it landed", attacker, target)
        self._check(before == known, f"{target} has health {before}, it should be {known}", target)
        blow.felt_at, blow.hurt = self.world.clock.now, before - after
        self.health[target] = after

    def hear(self, attacker: int, number: int, hurt: int, counted: int, home: str) -> None:
        """The attacker gets the answer to a blow."""
        blow = self._blow(attacker, number)
        self._check(blow.felt_at is not None, f"{blow} is answered before it is felt", attacker, blow.target)
        self._check(blow.hurt == hurt, f"{blow} hurt by {blow.hurt}, the answer has {hurt}", attacker, blow.target)
        self._check(not blow.is_answered, f"{blow} is answered twice", attacker, blow.target)
        is_open = not blow.is_given_up and blow.life == self.life("cell", attacker)
        due = int(is_open and hurt > 0)
        self._check(counted == due, f"{blow} is counted {counted} times instead of {due}", attacker, blow.target)
        blow.is_answered, blow.is_counted = True, is_open
        blow.homes.append(home)
        self.hits[attacker] = self.hits.get(attacker, 0) + counted

    def give_up(self, attacker: int, number: int) -> None:
        """A record is given up."""
        blow = self._blow(attacker, number)
        since = blow.begun_at + self.rules.SWING_S if blow.landed_at is None else blow.landed_at + self.rules.ANSWER_S
        early = since - self.world.clock.now
        self._check(not blow.is_given_up, f"{blow} is given up twice", attacker, blow.target)
        self._check(not blow.is_counted, f"{blow} is given up, but was counted", attacker, blow.target)
        self._check(early < EARLY_S, f"{blow} is given up {early:.3f} s early", attacker, blow.target)
        blow.is_given_up = True

    def _blow(self, attacker: int, number: int) -> Struck:
        blow = self.blows.get((attacker, number))
        self._check(blow is not None, f"blow {number} of {attacker} was never begun", attacker)
        assert blow is not None
        return blow

    def _check(self, holds: bool, what: str, *about: object) -> None:
        """Raises a violation from inside game code."""
        self.check(None if holds else Broken("P2", what, *about))

    # At rest.

    def unrest(self, reals: list[Real]) -> tuple[str, int] | None:
        """A blow or question that should have ended by now."""
        for blow in self.blows.values():
            what = self._unrest(blow)
            if what is not None:
                return f"{blow} {what}", blow.attacker
        if self.asked != self.told:
            return f"{self.asked - self.told} awaited questions have no end", 0
        if self.shape.is_peaceful and self.asked > ASKED_MANY and not self.learnt:
            return f"none of {self.asked} questions was answered", 0
        for real in reals:
            self._judge(real)
        return None

    def _unrest(self, blow: Struck) -> str | None:
        is_over = self.is_over("cell", blow.attacker, blow.life)
        if blow.landed_at is None:
            return None if is_over or blow.is_given_up else "does not land"
        if blow.felt_at is None and not self.was_away("cell", blow.target, blow.landed_at):
            return "has landed and is not felt"
        if blow.felt_at is not None and not blow.is_answered and not self.was_away("cell", blow.attacker, blow.felt_at):
            return "was felt and is not answered"
        return None if is_over or blow.is_counted or blow.is_given_up else "has a record that is left over"

    def _judge(self, real: Real) -> None:
        entity, state = real.body.id, real.body.state
        if "blows" not in state.layout.index:
            return
        check(not state["blows"], "P2", f"{entity} has records left: {state['blows']}", entity)
        hits, health = self.hits.get(entity, 0), self.health.get(entity)
        check(state["hits"] == hits, "P2", f"{entity} has counted {state['hits']} hits instead of {hits}", entity)
        check(state["health"] == health, "P2", f"{entity} has health {state['health']}, it should be {health}", entity)
