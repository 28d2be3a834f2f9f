"""Game code that does the worst thing at the worst moment: while others are destroyed, while it is closed, in hooks."""

from __future__ import annotations

import pytest

from terrazzo.wire.log_events import LogEvent
from tests.cell.land import Land
from tests.cell.plain import AvatarCell


@pytest.fixture
def land() -> Land:
    """Entities 1, 2, 4 and 5 in the one cell, 3 in the other, which does not answer."""
    land = Land()
    for entity, x in ((1, -20.0), (2, -30.0), (4, -35.0), (5, -40.0), (3, 30.0)):
        land.create(entity, x)
    land.settle()
    land.block(1, 0)
    return land


def wait(land: Land, entity: int, then=lambda part: None, on=BaseException) -> list[str]:
    """A method of the entity waits for 3; when it ends it does something. What it did is in the list."""
    done: list[str] = []

    async def method(part: AvatarCell) -> None:
        try:
            await part.ref(3).tell_luck(5, timeout=1.0)
        except on as problem:
            done.append(type(problem).__name__)
            raise
        finally:
            then(part)
            done.append("finally")

    real = land.real(entity)
    land[0].core.run(real.body, "method", method, real.part)
    return done


def test_method_that_ends_with_its_entity_destroys_another_with_a_waiting_method(land):
    others = {entity: land.part(entity) for entity in (2, 4, 5)}
    ends = {entity: wait(land, entity) for entity in (4, 5)}
    ends[2] = wait(land, 2, lambda part: (others[4].destroy(), others[5].destroy()))
    ends[1] = wait(land, 1, lambda part: others[2].destroy())
    land.step(1)
    land.do(1, lambda part: part.destroy())
    land.step(30)  # longer than any of them would have waited
    assert ends == {entity: ["EntityGone", "finally"] for entity in (1, 2, 4, 5)}
    assert set(land[0].reals) == set()
    assert len(land[0].core.awaiting) == 0
    assert not land[0].core.awaiting._waits


def test_method_that_ends_with_its_entity_begins_another_of_the_same(land):
    begun: list[int] = []

    def again(part: AvatarCell) -> None:
        begun.append(1)
        wait(land, part.id, again)

    wait(land, 1, again)
    land.step(1)
    land.do(1, lambda part: part.destroy())
    land.step(30)
    assert 1 not in land[0].reals
    assert len(begun) > 1
    assert len(land[0].core.awaiting) == 0


def test_method_that_cannot_be_closed_ends_with_its_entity(land):
    async def method(part: AvatarCell) -> None:
        for _ in range(3):
            try:
                await part.ref(3).tell_luck(5, timeout=1.0)
            except BaseException as problem:  # also GeneratorExit
                part.events.append(type(problem).__name__)

    real = land.real(1)
    part = real.part
    land[0].core.run(real.body, "method", method, part)
    land.step(1)
    land.do(1, lambda part: part.destroy())
    land.step(30)
    assert part.events[1:3] == ["EntityGone", "GeneratorExit"]
    assert 1 not in land[0].reals
    assert len(land[0].core.awaiting) == 0
    assert "coroutine ignored GeneratorExit" in str(land.host.words("game error")[-1]["error"])


def test_method_that_ends_because_its_entity_leaves_destroys_others(land):
    others = {entity: land.part(entity) for entity in (2, 4)}
    ends = [wait(land, 4), wait(land, 2, lambda part: others[4].destroy())]
    ends.append(wait(land, 1, lambda part: others[2].destroy()))
    land.step(1)
    land.blocked.clear()
    land.put(1, 60.0)
    land.settle()
    assert land.home(1) == 1
    assert ends == [["EntityGone", "finally"], ["EntityGone", "finally"], ["EntityMoved", "finally"]]
    assert {2, 4}.isdisjoint(land[0].reals)
    assert len(land[0].core.awaiting) == 0


HOOKS = ["on_timer", "on_reached", "on_proximity_entered", "on_client_attached", "on_vehicle_lost", "on_teleported",
         "on_leaving_cell", "on_left_cell", "on_entered_cell", "on_ghost_created", "on_ghost_destroyed"]  # fmt: skip


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_that_destroys_and_moves_everything_ends_no_app(monkeypatch, hook):
    ran: list[str] = []
    lands: list[Land] = []

    def worst(part: AvatarCell, *args: object) -> None:
        ran.append(hook)
        for app in lands[0].cells:
            for other in [real.part for real in app.reals.values()]:
                other.cancel("movement")
                other.cancel(1)
                if other.vehicle:
                    other.alight()
                other.timer(0.0, number=2)
                other.add_proximity(30.0, number=3)
                other.teleport("plain", (100.0, 0.0, 0.0))
                if other.id != 5:
                    other.destroy()

    monkeypatch.setattr(AvatarCell, hook, worst)
    lands.append(Land())
    land = lands[0]
    for entity, x in ((1, -20.0), (2, -21.0), (4, -60.0), (5, -70.0)):
        land.base.create(land[0].me, entity, (x, 0.0, 0.0))
    land.step(3)
    live = {entity: real.part for entity, real in land[0].reals.items()}
    for part in live.values():
        if not land[0].reals[part.id].is_destroyed:
            land.do(part.id, lambda part: part.timer(0.1, repeat=0.1, number=1))
            land.do(part.id, lambda part: part.move_to((part.position.x + 0.2, 0.0, 0.0), 5.0))
            land.do(part.id, lambda part: part.add_proximity(50.0, number=4))
            land.base.attach(part.id)
    if {1, 4} <= set(land[0].reals):
        land.do(1, lambda part: part.board(4))
    land.step(2)
    for entity, x in ((4, 60.0), (2, 60.0)):
        if entity in land[0].reals and not land[0].reals[entity].is_destroyed:
            land.put(entity, x)
    if 5 in land[0].reals:
        land.do(5, lambda part: part.teleport("plain", (-80.0, 0.0, 0.0)))
    if 4 in land[0].reals and not land[0].reals[4].is_destroyed and hook == "on_vehicle_lost":
        land.do(4, lambda part: part.destroy())
    land.step(60)
    assert ran, f"{hook} did not run"
    assert land.home(5) is not None, "the one that was not destroyed is there"
    assert not any(LogEvent.ENTITY_WORK_FAILED in app.counts for app in land.cells)
    land.create(9, 10.0)  # and the world goes on
    land.step(10)
    assert land.home(9) is not None or ran


def test_game_error_without_a_text_and_exit_of_the_game_end_no_app(land):
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    def fail(part: AvatarCell, problem: BaseException) -> None:
        raise problem

    for problem in (Mute(), SystemExit(1), GeneratorExit(), RuntimeError("a\ud800"), RecursionError()):
        real = land.real(1)
        land[0].core.run(real.body, "fail", fail, real.part, problem)
        land.step(1)
    errors = [str(facts["error"]) for facts in land.host.words("game error")]
    told = ["Mute, without a text: its __str__ failed", "SystemExit: 1", "GeneratorExit: ", "RuntimeError: a\\ud800"]
    assert errors == [*told, "RecursionError: "]
    assert land.home(1) == 0


def test_caller_gets_call_raised_from_a_method_that_exits(land, monkeypatch):
    def leave(part: AvatarCell) -> None:
        raise SystemExit("a\ud800")

    async def leave_later(part: AvatarCell) -> None:
        raise SystemExit("later")

    land.blocked.clear()
    for method, words in ((leave, "SystemExit: a\\ud800"), (leave_later, "SystemExit: later")):
        monkeypatch.setattr(AvatarCell, "refuse", method)
        land.act(1, "ask", 3, "refuse")
        land.step(10)
        assert words in str(land.part(1).events[-1])
