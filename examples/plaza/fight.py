"""A fight across a border: what becomes of a blow when everybody may live elsewhere by the time it lands.

    attacker                                          target
      strike(): what can be seen of the target is good enough to begin; a record is kept, a timer set
      … half a second …                               … may leave for another cell, or be struck by somebody else
      _land(): be_struck(self.me, …) ───────────────▶ be_struck(): here it is decided: hurt, dead, or too late
      … may be in another cell by now …
      blow_felt(): the record is settled  ◀────────── blow_felt(…)
      on_timer(): no answer ever came, the record is given up

Three rules make it hold, wherever either of them is by then:

- *Look, then call.* `strike` looks at a view, which may be a copy and a moment old. So it only keeps out what is
  plainly wrong. Whoever owns the health decides: `be_struck` runs where the target really is, once.
- *What must survive a move is a property or a timer.* A blow under way is a record in `blows`, and it knows the number
  of its timer. Both go along when the attacker gets into another cell; a plain attribute would stay behind, and an
  `async def` that waits for the answer would end.
- *Whatever waits for an answer has an end.* The target may be gone before the blow lands: then the timer of the record
  says so.
"""

from __future__ import annotations

from terrazzo import Bool, Cell, Int32, Ref, UInt16, UInt32, exposed, remote

from .entities import HEALTH, Blow, Living

LOOK_M = 60.0
"""How far one looks for somebody to strike."""
SWING_S = 0.5
"""From its beginning until it lands."""
ANSWER_S = 5.0
"""So long it is waited for what became of it."""
RISE_S = 6.0
"""So long the dead lie."""
POWER = 20
BLOWS_MAX = 8
"""Blows under way that one can have at a time."""

RISE = 1
"""The number of the timer of the dead. Those of blows are drawn: nothing else has them, in any cell."""


class LivingCell(Cell, of=Living):
    """Whoever can strike and be struck."""

    def on_created(self) -> None:
        """A new body: alive, and without what a former one had begun. Its timers ended with it."""
        self.health = HEALTH
        self.blows.clear()

    # The attacker begins.

    @exposed(rate=4)
    def strike(self, target: Int32) -> None:
        """Strike an entity that the player sees."""
        self.attack(self.entity(target))

    @exposed(rate=4)
    def strike_nearest(self) -> None:
        """Strike the nearest of another side, for a player with keys and no pointer."""
        near = self.entities_in_range(LOOK_M, of=LivingCell)
        self.attack(next((each for each in near if each.side != self.side and each.health > 0), None))

    def attack(self, other: LivingCell | None) -> None:
        """Begin a blow, or say why not."""
        objection = self.objection(other)
        if objection:
            self.tell(objection)
        else:
            self.swing(other)

    def objection(self, other: LivingCell | None) -> str:
        """Why this one cannot be struck, as far as can be seen from here; nothing if it can."""
        if self.health <= 0:
            return "You are dead."
        if not isinstance(other, LivingCell) or other.id == self.id:
            return "There is nobody to strike."
        if other.health <= 0:
            return "It is dead already."
        if other.side == self.side:
            return "It is on your side."
        away = self.position.distance_to(other.position)
        if away > self.reach:
            return f"It is out of reach: {away:.1f} m away, and you reach {self.reach:.0f} m."
        return "Not so fast." if len(self.blows) >= BLOWS_MAX else ""

    def swing(self, other: LivingCell) -> None:
        """A blow is begun."""
        self.blows_begun += 1
        self.blows.append(Blow(number=self.blows_begun, target=other.me, timer=self.timer(SWING_S)))

    def on_timer(self, number: int) -> None:
        """A blow lands, or is given up; or one that was dead is on its feet again."""
        if number == RISE:
            self.health = HEALTH
        for blow in self.blows:
            if blow.timer == number:
                if blow.has_landed or self.health <= 0:
                    self.give_up(blow)
                else:
                    self.land(blow)
                return

    def land(self, blow: Blow) -> None:
        """The arm comes down: from here on it is the target's affair, wherever that is."""
        blow.has_landed = True
        blow.timer = self.timer(ANSWER_S)
        self.ref(blow.target).be_struck(self.me, blow.number, POWER)

    def give_up(self, blow: Blow) -> None:
        """The target is gone, or its answer does not come; or the attacker died with its arm in the air."""
        self.blows.remove(blow)
        self.tell("You strike the air.")

    # The target decides.

    @remote
    def be_struck(self, by: Ref, number: UInt32, power: UInt16) -> None:
        """A blow lands. Who is dead feels nothing; whoever killed it has had the last word."""
        hurt = min(power, self.health)
        self.health -= hurt
        is_dead = hurt > 0 and self.health == 0
        self.ref(by).blow_felt(number, hurt, is_dead)
        if is_dead:
            self.die()
        elif hurt > 0:
            self.on_struck(by)

    def die(self) -> None:
        """Lie there for a while."""
        self.timer(RISE_S, number=RISE)

    def on_struck(self, by: Ref) -> None:
        """It hurts; what now?"""

    # The attacker hears of it.

    @remote
    def blow_felt(self, number: UInt32, hurt: UInt16, is_dead: Bool) -> None:
        """The answer to a blow. It counts once: when its record is still there."""
        for blow in self.blows:
            if blow.number == number:
                self.cancel(blow.timer)
                self.blows.remove(blow)
                self.hits += hurt > 0
                self.tell(
                    "You killed it." if is_dead else f"You hurt it by {hurt}." if hurt else "It was dead already."
                )
                return

    def tell(self, words: str) -> None:
        """To the player, where there is one."""

    # A question that can be awaited.

    @remote
    def tell_strength(self) -> tuple[UInt32, UInt32]:
        """How many blows it has begun, and how many were felt: others do not see that."""
        return self.blows_begun, self.hits
