"""The stage of the table of receivers: a whole cluster in the simulator, and edits at chosen moments of migrations.

    (-,+)  near, far ──────▶ (+,+)          four cells meet at 0, 0; entities migrate to the right
    (-,-)  subject ────────▶ (+,-)          the cells above keep a ghost of the subject all the time

There is a property for each flag, kind of change, and level of detail. In each round every one of them is changed once,
each in its own way. What is on its way between two cells is held up by clogging the path between them, so that rounds
are made before, during and after a migration, and what the former home of the subject sent comes after what the next
one sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple
from unittest import mock

from terrazzo import (
    ALL_CLIENTS,
    Array,
    Cell,
    Client,
    EntityType,
    Game,
    Proxy,
    Record,
    Space,
    Text,
    UInt32,
    Volatile,
    build,
    level,
    prop,
)
from terrazzo._speed.values import NESTED, SLICE, WHOLE
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts import copies, receiver
from terrazzo.game import LoadedGame
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import Side
from terrazzo.schema.state import State
from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.world import World
from terrazzo.sync.view_events import Changed, ViewEvent, Violation
from terrazzo.wire.ids import EntityId
from terrazzo.wire.pairs.cell_cell import UpdateGhost

NEAR_M = 30.0
START = [{"kind": 1, "count": 1}, {"kind": 2, "count": 1}, {"kind": 3, "count": 1}]


class Moment(Enum):
    """When the changes are made."""

    STEADY = "steady"
    WITNESS = "during the witness's migration"
    ENTITY = "during the entity's migration"
    BOTH = "during both"

    @property
    def moves_witness(self) -> bool:
        return self in (Moment.WITNESS, Moment.BOTH)

    @property
    def moves_entity(self) -> bool:
        return self in (Moment.ENTITY, Moment.BOTH)


class Receiver(Enum):
    GHOST = "ghost"
    OWN = "own client"
    NEAR = "other client near"
    BEYOND = "other client beyond the level"


class Column(NamedTuple):
    """One property: its receivers, how it is changed, and whether it is sent from near only."""

    flag: Flags
    kind: int
    is_detail: bool

    @property
    def name(self) -> str:
        how = {WHOLE: "set", NESTED: "nested", SLICE: "slice"}[self.kind]
        return f"{self.flag.name.lower()}_{how}{'_near' if self.is_detail else ''}"


KINDS = (WHOLE, NESTED, SLICE)
COLUMNS = [Column(flag, kind, is_detail) for flag in Flags for kind in KINDS for is_detail in (False, True)]


class Item(Record):
    kind: UInt32 = 0
    count: UInt32 = 0


def _subject() -> type[EntityType]:
    members: dict[str, Any] = {"name": prop(ALL_CLIENTS, saved=True, unique=True, database_length=40)}
    for each in COLUMNS:
        members[each.name] = prop(each.flag, default=START, detail="near" if each.is_detail else None)
    hints = {name: Text if name == "name" else Array[Item] for name in members}
    members |= {
        "detail_levels": [level("near", NEAR_M, 10.0)],
        "volatile": Volatile(position=True, yaw=True),
        "__annotations__": hints,
        "__module__": __name__,
    }
    return type("Subject", (EntityType,), members)


Subject = _subject()


class SubjectBase(Proxy, of=Subject):
    entries: Iterator[tuple[float, float, float]]

    def on_client_ready(self) -> None:
        self.create_cell("plain", next(self.entries))


class SubjectCell(Cell, of=Subject): ...


class SubjectClient(Client, of=Subject): ...


SCHEMA = build([Subject]).checked()
SUBJECT = SCHEMA["Subject"]


class Heard(NamedTuple):
    """A change as a receiver got it."""

    kind: int
    value: bytes
    """The whole property, afterwards."""


class Log:
    """What one receiver got, by property."""

    def __init__(self) -> None:
        self.heard: dict[str, list[Heard]] = {}

    def note(self, name: str, kind: int, value: object) -> None:
        self.heard.setdefault(name, []).append(Heard(kind, ENCODE[name](value)))


ENCODE: dict[str, Callable[[object], bytes]] = {each.name: each.codec.encode for each in SUBJECT.properties}


class Scene:
    """One run, from the first login to rest. `logs` has what each receiver got; `made`, what there was to get."""

    def __init__(self, moment: Moment) -> None:
        self.made = Log()
        self.logs = {each: Log() for each in Receiver}
        self.ghosts: dict[str, Log] = {}
        self.world = World(7)
        self._entries = {"subject": (-5.0, 0.0, -5.0), "near": (-8.0, 0.0, 8.0), "far": (-5.0, 0.0, 55.0)}
        self.cluster = Cluster(self.world, self._game(), cells=4, bases=1, offload_margin_m=1.0)
        self.seats: dict[str, Seat] = {}
        self._round = 10
        with mock.patch.object(receiver, "apply_step", self._on_ghost_step):
            self._begin()
            self._play(moment)

    # The stage.

    def _game(self) -> LoadedGame:
        SubjectBase.entries = iter(self._entries.values())
        policy = Game(player=Subject, spaces=[Space("plain", (-100.0, -100.0, 100.0, 100.0))])
        parts = {"Subject": {Side.BASE: SubjectBase, Side.CELL: SubjectCell, Side.CLIENT: SubjectClient}}
        return LoadedGame(SCHEMA, policy, parts)

    def _begin(self) -> None:
        self.run(3.0)
        for name, listener in (("subject", Receiver.OWN), ("near", Receiver.NEAR), ("far", Receiver.BEYOND)):
            self.seats[name] = self.cluster.client(name, "secret", listener=self._listener(listener))
            self.run(3.0)
        assert all(len(seat.app.view.others) == 2 for seat in self.seats.values())
        self.former = self.app_of("subject")
        self.watchers = {self.cell_at(-5.0, 5.0), self.cell_at(5.0, 5.0)}

    def _listener(self, receiver: Receiver) -> Callable[[ViewEvent], None]:
        def listen(event: ViewEvent) -> None:
            assert not isinstance(event, Violation), f"{receiver.value}: {event}"
            if isinstance(event, Changed) and event.entity.id == self.subject:
                self.logs[receiver].note(event.name, event.applied.kind, event.entity.state[event.name])

        return listen

    def _on_ghost_step(self, body: Body, message: UpdateGhost) -> None:
        if body.id == self.subject and body.core.me in {app.me for app in self.watchers}:
            layout, log = SUBJECT.ghost_layout, self.ghosts.setdefault(str(body.core.me), Log())
            copy = State(layout, None, layout.row.decode(layout.row.encode(body.state.values())))
            for item in message.items:
                applied = copy.apply_internal(item.data)
                name = layout.names[applied.prop]
                log.note(name, applied.kind, copy[name])
            copies.apply_step(body, message)
            assert body.state.values() == copy.values()
        else:
            copies.apply_step(body, message)

    # The play.

    def _play(self, moment: Moment) -> None:
        subject_path = self._path((-5.0, -5.0), (5.0, -5.0))
        witness_path = self._path((-5.0, 5.0), (5.0, 5.0))
        late = [self._path((-5.0, -5.0), (x, 5.0)) for x in (-5.0, 5.0)]
        self.edit()
        if moment.moves_witness:
            self._clog(witness_path)
            self.put("near", (8.0, 0.0, 8.0))
            self.put("far", (5.0, 0.0, 55.0))
        if moment.moves_entity:
            self.edit()
            self._clog(subject_path, *late)
            self.put("subject", (5.0, 0.0, -5.0))
            self.edit()
        for _ in range(4):
            self.run(0.2)
            self.edit()
        assert self.is_away("near") == self.is_away("far") == moment.moves_witness, "it should be on its way"
        assert self.is_away("subject") == moment.moves_entity, "it should be on its way"
        self._unclog(subject_path if moment.moves_entity else None)
        for _ in range(3):
            self.run(0.2)
            self.edit()
        self._unclog(witness_path if moment.moves_witness else None)
        self.run(0.25)
        self.edit()
        self.run(0.25)
        self._unclog(*(late if moment.moves_entity else ()))
        self.edit()
        self.run(3.0)
        assert (self.app_of("subject") is not self.former) == moment.moves_entity

    def edit(self) -> None:
        """A round: every property is changed once, on the part that has it, if that is anywhere now."""
        self._round += 10
        base = self.cluster.base_apps[0].bases[EntityId(self.subject)].part
        app = self.app_of("subject")
        cell = None if app is None else app.reals[self.subject]
        for each in COLUMNS:
            if each.flag.value.base:
                self._change(base, each)
            elif each.flag.value.cell and app is not None and cell is not None:
                app.core.run(cell.body, "edit", self._change, cell.part, each)

    def change(self, name: str) -> str:
        """One property of the cell part is changed."""
        self._round += 10
        real = self.real("subject")
        assert real is not None
        column = next(each for each in COLUMNS if each.name == name)
        real.body.core.run(real.body, "edit", self._change, real.part, column)
        return name

    def value(self, name: str) -> object:
        """As it is on the real."""
        real = self.real("subject")
        assert real is not None
        return real.body.state[name]

    def _change(self, part: Any, column: Column) -> None:
        number, name = self._round, column.name
        if column.kind == WHOLE:
            setattr(part, name, [Item(kind=number), Item(kind=number + 1), Item(kind=number + 2)])
        elif column.kind == NESTED:
            getattr(part, name)[number // 10 % 3].count = number
        else:
            items = getattr(part, name)
            items[1:2] = [Item(kind=number + at) for at in range(number // 10 % 3)]
            if len(items) < 3:
                items.append(Item(kind=number))
                self.made.note(name, SLICE, [*items[:-1]])
        self.made.note(name, column.kind, getattr(part, name))

    # What is there.

    @property
    def subject(self) -> int:
        seat = self.seats.get("subject")
        return 0 if seat is None or seat.app.view.player is None else seat.app.view.player.id

    def real(self, name: str) -> Real | None:
        player = self.seats[name].app.view.player
        assert player is not None
        found = [app.reals[player.id] for app in self.cluster.cell_apps if player.id in app.reals]
        assert len(found) <= 1
        return found[0] if found else None

    def app_of(self, name: str) -> CellApp | None:
        real = self.real(name)
        return next((app for app in self.cluster.cell_apps if real is not None and app.core is real.body.core), None)

    def is_away(self, name: str) -> bool:
        return self.real(name) is None

    def cell_at(self, x: float, z: float) -> CellApp:
        leaf = self.cluster.manager.tree_of("plain").leaf_at(x, z)
        assert leaf is not None
        return next(app for app in self.cluster.cell_apps if app.me == leaf.app)

    def put(self, name: str, position: tuple[float, float, float]) -> None:
        real = self.real(name)
        assert real is not None
        real.body.core.run(real.body, "put", setattr, real.part, "position", position)

    def walk(self, name: str, x: float, z: float) -> dict[Receiver, Log]:
        """An entity goes there; returns what clients get until all is quiet again."""
        self.logs = {each: Log() for each in Receiver}
        self.put(name, (x, 0.0, z))
        self.run(1.5)
        return self.logs

    def run(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def _path(self, one: tuple[float, float], other: tuple[float, float]) -> Any:
        names = [f"cell_app-{self.cell_at(*each).me.index}" for each in (one, other)]
        return self.world.network.path(*names)

    def _clog(self, *paths: Any) -> None:
        for path in paths:
            path.clogs += 1

    def _unclog(self, *paths: Any) -> None:
        for path in paths:
            if path is not None:
                path.clogs -= 1
        self.world.network.reconsider()
