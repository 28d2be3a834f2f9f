"""`create` from the code of a base: where the entity is made, what the creator gets, and no second entity."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo import ALL_CLIENTS, BASE, Base, Cell, EntityType, Game, Int32, Ref, Space, UInt32, build, prop, remote
from terrazzo.base.entity import BaseLife
from terrazzo.errors import CallFailed, CallTimeout, CreationFailed, UsageError
from terrazzo.game import LoadedGame, parts_of
from terrazzo.schema.refs import Component
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.world import World
from terrazzo.wire.pairs.creation import CreateEntity

PLAIN = Space("plain", (-50.0, -50.0, 50.0, 50.0))


class Guild(EntityType):
    """Has no place, usually."""

    number: Int32 = prop(BASE)


class Guard(EntityType):
    number: UInt32 = prop(ALL_CLIENTS)
    pay: Int32 = prop(BASE)


class GuildBase(Base, of=Guild):
    seen: list[Any]

    async def make(self, type_: Any, **named: Any) -> None:
        try:
            self.seen.append(await self.create(type_, **named))
        except CallFailed as problem:
            self.seen.append((type(problem), str(problem)))

    def make_plainly(self, **named: Any) -> None:
        self.create(Guard, **named)


class GuardBase(Base, of=Guard):
    seen: list[Any]

    def on_created(self) -> None:
        if self.pay == 666:
            self.destroy()

    def on_cell_failed(self, reason: str) -> None:
        self.seen.append("on_cell_failed")


class GuardCell(Cell, of=Guard):
    @remote
    def stand(self) -> tuple[Int32, Int32]:
        return int(self.position.x), int(self.position.z)


class Town:
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.logged: list[Any] = []
        self.world = World(seed=5)
        self.world.on_log = lambda where, event, facts: self.logged.append((event, facts))
        parts = {
            name: {side: type(each.__name__, (each,), {"seen": self.seen}) for side, each in sides.items()}
            for name, sides in parts_of([Guild, Guard]).items()
        }
        policy = Game(player=Guild, spaces=[PLAIN], on_ready=lambda server: server.create(Guild, number=1))
        self.cluster = Cluster(self.world, LoadedGame(build([Guild, Guard]).checked(), policy, parts), cells=2, bases=2)
        self.wait(5.0)
        [self.guild] = self.bases("Guild")
        self.app = next(app for app in self.cluster.base_apps if self.guild.id in app.bases)
        self.other = next(app for app in self.cluster.base_apps if app is not self.app)

    def wait(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def bases(self, name: str) -> list[Any]:
        return [each for app in self.cluster.base_apps for each in app.bases.values() if each.schema.name == name]

    def act(self, name: str, *args: Any, **named: Any) -> None:
        self.guild.guarded(name, lambda: getattr(self.guild.part, name)(*args, **named), ())

    def logs(self, event: str) -> list[Any]:
        return [facts for each, facts in self.logged if str(each) == event]


@pytest.fixture
def town() -> Town:
    return Town()


def test_entity_is_made_on_the_least_loaded_app_or_here(town):
    town.act("make", Guard, pay=3)
    town.act("make", "Guard", pay=4, here=True)
    town.wait(1.0)
    near = next(each for each in town.app.bases.values() if each.schema.name == "Guard")
    [far] = town.other.bases.values()
    assert (near.part.pay, far.part.pay) == (4, 3)
    assert {ref.id for ref in town.seen} == {near.id, far.id}
    assert {ref.component for ref in town.seen} == {Component.BASE}


def test_ref_comes_when_the_body_is_there_at_its_place(town):
    town.act("make", Guard, space="plain", position=(20.0, 0.0, -7.0), number=5)
    town.wait(2.0)
    [ref] = town.seen
    [guard] = town.bases("Guard")
    assert ref == Ref(guard.id, Component.BASE, guard.schema.type_id)
    assert guard.has_cell
    [real] = [app.reals[ref.id] for app in town.cluster.cell_apps if ref.id in app.reals]
    assert real.body.position == (20.0, 0.0, -7.0)
    assert real.part.number == 5


def test_entity_near_another_one_is_made_beside_its_body(town):
    town.act("make", Guard, space="plain", position=(20.0, 0.0, -7.0))
    town.wait(2.0)
    town.act("make", Guard, near=town.seen[0], position=(2.0, 0.0, 0.0))
    town.wait(2.0)
    places = {
        app.reals[ref.id].body.position for ref in town.seen for app in town.cluster.cell_apps if ref.id in app.reals
    }
    assert places == {(20.0, 0.0, -7.0), (22.0, 0.0, -7.0)}


def test_near_an_entity_without_a_body_fails_with_the_reason(town):
    town.act("make", Guard, near=Ref(town.guild.id, Component.BASE, town.guild.schema.type_id))
    town.act("make", Guard, near=Ref(99999, Component.CELL, 1))
    town.wait(15.0)
    assert [kind for kind, _ in town.seen] == [CreationFailed, CreationFailed]
    assert {text.partition("unknown: ")[2] for _, text in town.seen} == {
        "it has no cell part",
        "there is no such entity (any more)",
    }
    assert town.bases("Guard") == []


def test_entity_that_its_own_code_destroys_is_reported_as_failed(town):
    town.act("make", Guard, pay=666)
    town.wait(1.0)
    assert town.seen == [(CreationFailed, "Guard: its own code destroyed it at once")]


def test_entity_without_the_body_that_was_wanted_is_destroyed(town, monkeypatch):
    monkeypatch.setattr(town.cluster.cell_mgr.app, "_entry_at", lambda asked: "closed for today")
    town.act("make", Guard, space="plain", position=(1.0, 0.0, 1.0))
    town.wait(2.0)
    assert town.seen == ["on_cell_failed", (CreationFailed, "Guard: closed for today")]
    assert town.bases("Guard") == []


def test_creation_with_a_lost_answer_makes_one_entity(town):
    requested = town.other.requested
    answer, lost = requested._answer, list[Any]()

    def lose(question: Any, outcome: Any) -> None:
        if lost:
            answer(question, outcome)
        else:
            lost.append(outcome)
            assert town.world.network.break_between("base_app-1", "base_app-2")

    vars(requested)["_answer"] = lose
    town.act("make", Guard, pay=3, timeout=60.0)
    town.wait(20.0)
    assert len(lost) == 1
    assert [ref.id for ref in town.seen] == [each.id for each in town.other.bases.values()]


def test_repeated_request_gets_the_first_outcome(town):
    made: list[Any] = []
    wanted = CreateEntity(0, town.guild.schema.type_id, b"\0\0\0\0", b"", "", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    town.app.creator.create(wanted, lambda entity, why: made.append((entity, why)))
    town.wait(1.0)
    key, outcome = next(iter(town.other.requested._outcomes.items()))
    assert made == [outcome]
    assert key == (town.app.me, wanted.number + 1)
    assert len(town.other.bases) == 1


def test_creation_without_a_base_app_fails_in_time(town, monkeypatch):
    monkeypatch.setattr(town.cluster.base_mgr.app, "_least_loaded", lambda apps: None)
    town.act("make", Guard, timeout=2.0)
    town.act("make_plainly")
    town.wait(25.0)
    [(kind, text)] = town.seen
    assert kind is CallTimeout
    assert text == "creation of a Guard: no answer in time"
    assert [facts["why"] for facts in town.logs("creation failed")] == ["no BaseApp is running"] * 2


def test_wrong_use_is_refused_where_it_is_made(town):
    part = town.guild.part
    for problem, use in {
        "create: type: there is no entity type 'Gard'; did you mean Guard": lambda: part.create("Gard"),
        "create takes both a space and a position": lambda: part.create(Guard, space="plain"),
        "there is no space 'moon'": lambda: part.create(Guard, space="moon", position=(0, 0, 0)),
        "Guard has no property 'payment'": lambda: part.create(Guard, payment=3),
        "near is a Ref, not 3": lambda: part.create(Guard, near=3),
        "create: timeout, in seconds,": lambda: part.create(Guard, timeout=0),
    }.items():
        with pytest.raises(UsageError) as caught:
            use()
        assert problem in str(caught.value)
    town.guild.life = BaseLife.LEAVING
    with pytest.raises(UsageError, match="it creates nothing any more"):
        part.create(Guard)
