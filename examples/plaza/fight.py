"""A fight across a border: attacker and target of a blow may both be in other cells by the time it lands.

    attacker                                          target
      strike(): the view of the target is good enough to begin; a record is kept, a timer set
      … half a second …                               … may move to another cell, or be struck by another attacker
      _land(): be_struck(self.me, …) ───────────────▶ be_struck(): here it is decided: hurt, dead, or too late
      … may be in another cell by now …
      blow_felt(): the record is settled  ◀────────── blow_felt(…)
      on_timer(): no answer came, the record is given up

Three rules make it right in whichever cells the two are:

- *Look, then call.* `strike` reads a view, which may be a ghost and a moment old. So it only refuses what is plainly
  wrong. The entity with the health decides: `be_struck` runs once, in the target's own cell.
- *What must survive a move is a property or a timer.* A blow under way is a record in `blows`, with the number of its
  timer. Both move with the attacker to another cell; a plain attribute would be lost, and an `async def` that waits for
  the answer would end.
- *Every wait for an answer has an end.* The target may be gone before the blow lands: then the timer of the record ends
  the blow.
"""

from __future__ import annotations

from terrazzo import Bool, Cell, Int32, Ref, UInt16, UInt32, exposed, remote

from .entities import HEALTH, Blow, Living

LOOK_M = 60.0
"""How far a fighter looks for a target."""
SWING_S = 0.5
"""The time from the beginning of a blow until it lands."""
ANSWER_S = 5.0
"""The longest time to wait for the answer to a blow."""
RISE_S = 6.0
"""The time for which a dead fighter lies."""
POWER = 20
BLOWS_MAX = 8
"""The most blows under way of one fighter."""

RISE = 1
"""The number of the timer of the dead. Those of blows are drawn: nothing else has them, in any cell."""


class LivingCell(Cell, of=Living):
    """A cell part that can strike and be struck."""

    def on_created(self) -> None:
        """A new body is alive, and has no blows of a former one: its timers ended with it."""
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
        """Begin a blow, or send the player why not."""
        objection = self.objection(other)
        if objection:
            self.tell(objection)
        else:
            self.swing(other)

    def objection(self, other: LivingCell | None) -> str:
        """Why this entity cannot be struck, as far as its view shows; empty if it can."""
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
        """A blow lands, or is given up; or a dead fighter stands up."""
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
        """The blow lands: from here on the target decides, in its own cell."""
        blow.has_landed = True
        blow.timer = self.timer(ANSWER_S)
        self.ref(blow.target).be_struck(self.me, blow.number, POWER)

    def give_up(self, blow: Blow) -> None:
        """The target is gone, or its answer does not come; or the attacker died before the blow landed."""
        self.blows.remove(blow)
        self.tell("You strike the air.")

    # The target decides.

    @remote
    def be_struck(self, by: Ref, number: UInt32, power: UInt16) -> None:
        """A blow lands. A dead target is not hurt any more."""
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

    # The attacker gets the answer.

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
        """Send a text to the player, if there is one."""

    # A question that can be awaited.

    @remote
    def tell_strength(self) -> tuple[UInt32, UInt32]:
        """How many blows it has begun, and how many were felt: other clients do not get that."""
        return self.blows_begun, self.hits
