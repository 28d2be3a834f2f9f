"""The behaviour of the entities of the sync scenario: they change all the time, and walk and jump as in
`sim/scenarios/seamless/game.py`.

Each pulse is a few edits (`edits.py`), some of them of one property in one tick, client calls between them, and a step.
The types are drawn (`entity_types.py`), so the parts are made for each world.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from terrazzo import ALL_CLIENTS, Client, EntityType, Int32, UInt32, build, exposed, remote
from terrazzo.cell.core.real import Real
from terrazzo.game import LoadedGame
from terrazzo.schema.flags import Receiver
from terrazzo.schema.model import EntitySchema, Property, Schema, Side
from terrazzo.sim.scenarios.seamless.behaviour import Being, Home, PlayedHome
from terrazzo.sim.scenarios.seamless.game import policy_of
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.shape import Shape
from terrazzo.sim.scenarios.seamless.walking import Ground
from terrazzo.sim.scenarios.sync.edits import Editor
from terrazzo.sim.scenarios.sync.entity_types import CALLS, TypeMaker, draw_calls, draw_taste
from terrazzo.sim.scenarios.sync.lost_messages import LostMessages
from terrazzo.sim.world import World

FIXED = ("secret", "name", "visits")
"""Properties that have a use of their own."""
Callback = tuple[int, str, tuple[Any, ...]]
"""The entity, the name of the callback, and what it was given."""


class SyncJudge(Judge):
    """Has the types of its world, and which clients may have missed something."""

    def __init__(self, world: World, ground: Ground, shape: Shape, schema: Schema) -> None:
        super().__init__(world, ground, shape)
        self.schema = schema
        self.bases: dict[int, Any] = {}
        """The base parts of players."""
        self.lost_messages = LostMessages(lambda: world.clock.now)
        self.serving: Real | None = None
        """The entity of the client that is being served."""
        self.callbacks: list[Callback] = []
        """The callbacks of client parts since the last look."""
        self.edits = 0
        self._had: dict[tuple[int, str], set[bytes]] = {}

    def appeal(self, type_name: str) -> float:
        """See Judge."""
        return self.schema[type_name].appeal_radius

    def editor(self, entity: int) -> Editor:
        """The editor with the entity's own stream."""
        return Editor(self.rng(entity), self.unique)

    def is_new(self, entity: int) -> Callable[[Property, Any], bool]:
        """Whether the cell part of an entity has not had a value yet."""
        story = self.story(entity)
        assert story is not None, f"entity {entity} changes and has no story"
        return story.is_new

    def is_new_base(self, entity: int) -> Callable[[Property, Any], bool]:
        """The same for its base part, which has no story."""

        def is_new(prop: Property, value: Any) -> bool:
            had, now = self._had.setdefault((entity, prop.name), set()), prop.codec.encode(value)
            is_known = now in had
            had.add(now)
            return not is_known

        return is_new


class Thing(Being):
    """A body that changes."""

    judge: SyncJudge
    declared: EntitySchema

    def live(self) -> None:
        """Makes a few edits and calls, a step, and rarely a jump, or the end of this life."""
        rng = self.judge.rng(self.id)
        for _ in range(rng.choice([0, 1, 1, 2, 4])):
            self.edit()
            if rng.random() < 0.2:
                self.speak()
        if rng.random() < 0.7:
            self.stride(rng.choice([0.5, 2.0, 6.0]))
        if rng.random() < 0.02 and self.judge.shape.has_jumps:
            self.jump()

    def rest(self) -> None:
        """Makes one more change of a reliable property: lost values of unreliable ones are sent with it."""
        judge = self.judge
        for prop in self.declared.cell_properties:
            is_sure = prop.is_reliable and prop.detail_level is None and not prop.send_latest_only
            if prop.name not in FIXED and is_sure and Receiver.OTHER_CLIENTS.gets(prop.flags):
                judge.edits += judge.editor(self.id).edit(self, prop, judge.is_new(self.id))
                return

    def edit(self) -> None:
        """Edits one property, once or several times in this tick."""
        judge, rng = self.judge, self.judge.rng(self.id)
        mine = [each for each in self.declared.cell_properties if each.name not in FIXED]
        prop = rng.choice(mine)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            judge.edits += judge.editor(self.id).edit(self, prop, judge.is_new(self.id))

    def speak(self) -> None:
        """Calls some clients."""
        rng = self.judge.rng(self.id)
        method, own, others = rng.choice(CALLS), *rng.choice([(True, True), (False, True), (True, False)])
        target = self.everyone if own and others else self.others if others else self.client
        getattr(target, method)(self.judge.speak(self.id, method, own=own, others=others))


class ThingBase(Home):
    """Stays."""

    judge: SyncJudge
    declared: EntitySchema


class PlayerCell(Thing):
    """The body of a player: its client walks, and makes it change."""

    def live(self) -> None:
        """Acts by its own timer."""
        self.edit()

    @exposed
    def do(self, number: UInt32, deed: UInt32, value: UInt32) -> None:
        """Does one of several things; the client chooses."""
        self.judge.check(self.judge.calls.hear("do", self.caller, self.id, number))
        if deed % 10 < 6:
            self.edit()
        elif deed % 10 < 8:
            self.speak()
        elif deed % 20 == 8:
            radius = self.judge.shape.radius(value)
            self.judge.look(self.id, radius)
            self.set_aoi_radius(radius)
        elif deed % 40 == 9 and self.judge.shape.has_jumps:
            self.jump()
        elif deed % 80 == 19 and self.judge.shape.has_jumps:
            self.judge.radii.pop(self.id, None)
            self.perish()

    @exposed(to=ALL_CLIENTS)
    def poke(self, number: UInt32, source: Int32) -> None:
        """Called by another player's client."""
        self.judge.check(self.judge.calls.hear("poke", self.caller, self.id, number))
        self.edit()


class PlayerBase(PlayedHome):
    """The base part of a player; it changes, too."""

    judge: SyncJudge
    declared: EntitySchema

    def on_client_ready(self) -> None:
        """Asks for a body."""
        self.judge.bases[self.id] = self
        super().on_client_ready()

    @exposed
    def ask(self, number: UInt32) -> None:
        """Called by the own client; answered."""
        judge = self.judge
        judge.check(judge.calls.hear("ask", self.id, self.id, number))
        for prop in self.declared.base_properties:
            if prop.name not in FIXED:
                judge.edits += judge.editor(self.id).edit(self, prop, judge.is_new_base(self.id))
        self.client.on_noted(judge.answer(self.id))
        if judge.saves.is_wished():
            self.save()


class PlayerClient(Client):
    """The client methods of a player."""

    @remote
    def on_noted(self, number: UInt32) -> None:
        """Called by the own base part."""


class Cast:
    """The types of one world and their parts."""

    def __init__(self, world: World, shape: Shape) -> None:
        rng = world.rng("sync types")
        maker = TypeMaker(rng, draw_taste(rng, shape.area_radius_m))
        self.player = maker.player()
        self.types: list[type[EntityType]] = [self.player, *(maker.thing(each) for each in shape.population)]
        self._parts: dict[str, dict[Side, type[Any]]] = {}
        for each in self.types:
            is_player = each is self.player
            sides = {
                Side.BASE: PlayerBase if is_player else ThingBase,
                Side.CELL: PlayerCell if is_player else Thing,
                Side.CLIENT: PlayerClient if is_player else Client,
            }
            heard = draw_calls(rng, shape.area_radius_m) | draw_callbacks(rng, each)
            self._parts[each.__name__] = {
                side: _part(each, side, base, heard if side is Side.CLIENT else {}) for side, base in sides.items()
            }
        self.schema = build(self.types).checked()

    def game(self, judge: SyncJudge, shape: Shape, on_ready: Callable[[Any], None]) -> LoadedGame:
        """The game with this judge."""
        for name, sides in self._parts.items():
            for part in sides.values():
                part.judge, part.declared = judge, self.schema[name]
        return LoadedGame(self.schema, policy_of(self.player, shape, on_ready), self._parts)


def draw_callbacks(rng: Random, of: type[EntityType]) -> dict[str, Any]:
    """The callbacks of a client part: for each property one for all changes, or one for each kind."""
    names = []
    for prop in of.__annotations__:
        names += [f"set_{prop}"] + [f"set_{kind}_{prop}" for kind in ("nested", "slice") if rng.random() < 0.5]
    return {name: _callback(name) for name in names}


def _callback(name: str) -> Any:
    def changed(self: Any, *args: Any) -> None:
        """A property has changed."""
        self.judge.callbacks.append((self.id, name, args))

    return changed


def _part(of: type[EntityType], side: Side, base: type[Any], members: dict[str, Any]) -> type[Any]:
    name = f"{of.__name__}{side.value.capitalize()}"
    return type(name, (base,), {**members, "__module__": __name__, "__doc__": "Drawn."}, of=of)
