"""Awaited calls that begin or end at a base part, in a whole cluster: every way there is."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo import Base, Cell, EntityType, Game, Int32, Ref, Space, UInt32, build, prop, remote
from terrazzo.base.entity import BaseLife
from terrazzo.errors import CallFailed, CallRaised, CallTimeout, CallUndelivered, EntityGone
from terrazzo.game import LoadedGame, parts_of
from terrazzo.schema.flags import ALL_CLIENTS
from terrazzo.schema.model import Method
from terrazzo.schema.refs import Component
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.world import World

PLAIN = Space("plain", (-50.0, -50.0, 50.0, 50.0))


class Clerk(EntityType):
    """A base with a number to ask for."""

    number: UInt32 = prop(ALL_CLIENTS)


class ClerkBase(Base, of=Clerk):
    heard: list[Any]

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        self.heard.append(("call failed", method, reason))

    @remote
    def count(self, plus: Int32) -> Int32:
        return 100 + plus

    @remote
    def shrug(self) -> Int32:
        raise LookupError("nobody knows")

    @remote
    def close(self) -> Int32:
        self.destroy()
        return 3

    @remote
    async def close_slowly(self) -> Int32:
        self.destroy()
        return 4

    async def leave(self) -> None:
        self.destroy()
        self.heard.append("left")

    @remote
    async def pass_on(self, to: Ref) -> Int32:
        """Asks its own cell part, or another part, first."""
        count: int = await self.ref(to).count(1)
        return count * 10

    async def ask(self, to: Ref | None, method: str, *args: Any, timeout: float = 5.0) -> None:
        calls = self.cell if to is None else self.ref(to)
        try:
            self.heard.append(await getattr(calls, method)(*args, timeout=timeout))
        except CallFailed as problem:
            self.heard.append((type(problem), str(problem)))


class ClerkCell(Cell, of=Clerk):
    heard: list[Any]

    @remote
    def count(self, plus: Int32) -> Int32:
        return 200 + plus

    async def ask(self, to: Ref, method: str, *args: Any, timeout: float = 5.0) -> None:
        self.heard.append(await getattr(self.ref(to), method)(*args, timeout=timeout))

    async def ask_base(self) -> None:
        self.heard.append(await self.base.count(5))


class Office:
    """Two clerks on two BaseApps and two CellApps."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.errors: list[Any] = []
        self.world = World(seed=2)
        self.world.on_log = lambda where, event, facts: self.errors.append(facts) if event == "game error" else None
        parts = {
            name: {side: type(each.__name__, (each,), {"heard": self.heard}) for side, each in sides.items()}
            for name, sides in parts_of([Clerk]).items()
        }
        policy = Game(player=Clerk, spaces=[PLAIN], on_ready=self._populate, area_radius_m=20.0, ghost_distance_m=20.0)
        self.cluster = Cluster(self.world, LoadedGame(build([Clerk]).checked(), policy, parts), cells=2, bases=2)
        self.wait(5.0)

    def _populate(self, server: Any) -> None:
        for number, x in ((1, -40.0), (2, 40.0)):
            server.create("Clerk", space="plain", position=(x, 0.0, 0.0), number=number)
        server.create("Clerk", number=3)

    def wait(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def base(self, number: int) -> Any:
        return next(
            each for app in self.cluster.base_apps for each in app.bases.values() if each.data.cell["number"] == number
        )

    def ref(self, number: int, component: Component) -> Ref:
        entity = self.base(number)
        return Ref(entity.id, component, entity.schema.type_id)

    def act(self, number: int, name: str, *args: Any, **named: Any) -> None:
        entity = self.base(number)
        entity.guarded(name, lambda: getattr(entity.part, name)(*args, **named), ())

    def act_cell(self, number: int, name: str, *args: Any) -> None:
        entity = self.base(number).id
        [app] = [app for app in self.cluster.cell_apps if entity in app.reals]
        app.core.run(app.bodies[entity], name, getattr(app.reals[entity].part, name), *args)


@pytest.fixture
def office() -> Office:
    return Office()


def test_base_to_base_and_base_to_cell(office):
    office.act(1, "ask", office.ref(2, Component.BASE), "count", 1)
    office.act(1, "ask", office.ref(2, Component.CELL), "count", 2)
    office.act(1, "ask", None, "count", 3)
    office.act(1, "ask", office.ref(2, Component.BASE), "pass_on", office.ref(1, Component.CELL))
    office.wait(5.0)
    assert sorted(office.heard) == [101, 202, 203, 2010]
    assert office.errors == []


def test_cell_to_base(office):
    office.act_cell(1, "ask", office.ref(2, Component.BASE), "count", 1)
    office.act_cell(1, "ask_base")
    office.wait(5.0)
    assert sorted(office.heard) == [101, 105]
    assert office.errors == []


def test_exception_of_a_base_method_reaches_its_caller(office):
    office.act(1, "ask", office.ref(2, Component.BASE), "shrug")
    office.wait(2.0)
    [(kind, text)] = office.heard
    assert kind is CallRaised
    assert text == f"shrug of {office.base(2).id}.base: LookupError: nobody knows"


def test_a_base_that_ends_itself_ends_when_its_code_is_through(office):
    base = office.base(3)
    office.act(1, "ask", office.ref(3, Component.BASE), "close")
    office.wait(2.0)
    assert office.heard == [3]
    assert office.errors == []
    assert base.life is BaseLife.GONE


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_base_that_ends_itself_may_be_a_coroutine(office, is_asked):
    base = office.base(3)
    if is_asked:
        office.act(1, "ask", office.ref(3, Component.BASE), "close_slowly")
    else:
        office.act(3, "leave")
    office.wait(2.0)
    assert office.heard == ([4] if is_asked else ["left"])
    assert office.errors == []
    assert base.life is BaseLife.GONE


def test_call_of_a_base_that_does_not_exist_fails(office):
    gone = Ref(99, Component.BASE, office.base(1).schema.type_id)
    office.act(1, "ask", gone, "count", 1, timeout=30.0)
    office.base(1).guarded("plain", lambda: office.base(1).part.ref(gone).count(2), ())
    office.wait(10.0)
    assert office.heard == [
        ("call failed", "count", "there is no such entity (any more)"),
        (CallUndelivered, "count of 99.base: there is no such entity (any more)"),
    ]


def test_no_answer_in_time(office):
    office.act(1, "ask", office.ref(2, Component.BASE), "count", 1, timeout=0.01)
    office.wait(3.0)
    assert office.heard == [(CallTimeout, f"count of {office.base(2).id}.base: no answer in time")]
    assert sum(app.counts.late_answers for app in office.cluster.base_apps) == 1


def test_the_waiting_method_ends_with_its_base(office):
    office.act(1, "ask", office.ref(2, Component.BASE), "count", 1)
    entity = office.base(1)
    entity.part.destroy()
    entity.cell.give_up("this test does not wait for it")
    office.wait(1.0)
    assert office.heard == [(EntityGone, "the entity is being destroyed")]
    assert office.errors == []


def test_a_method_without_code_answers_too(office, monkeypatch):
    monkeypatch.setattr(ClerkBase, "count", None)
    office.act(1, "ask", office.ref(2, Component.BASE), "count", 1)
    office.wait(2.0)
    [(kind, text)] = office.heard
    assert kind is CallRaised
    assert text.endswith("has no code for it")


def test_a_call_that_does_not_decode_answers_too(office, monkeypatch):
    monkeypatch.setattr(Method, "encode_args", lambda method, *args: b"odd")
    office.act(1, "ask", office.ref(2, Component.BASE), "count", 1)
    office.wait(2.0)
    [(kind, _)] = office.heard
    assert kind is CallRaised


def test_a_call_that_cannot_be_sent_is_not_waited_for(office, monkeypatch):
    entity = office.base(1)
    monkeypatch.setattr(Method, "encode_args", lambda method, *args: bytes(950_000))
    office.act(1, "ask", office.ref(2, Component.BASE), "count", 1)
    assert len(office.errors) == 1
    assert not entity._services.awaiting._waits
