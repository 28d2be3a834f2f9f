"""The answer to CreateReal is lost: the same CellApp is asked again, and a cell part that was made lives."""

from __future__ import annotations

import pytest

from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.proxy import ProxyEntity
from terrazzo.errors import UsageError
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.pairs.base_cell import CallBase, CallCell, DestroyReal, RealCreated, SetWitness
from terrazzo.wire.pairs.base_cellmgr import FindEntry
from tests.base.base_harness import AVATAR, BASE_ID, CELL_ID, EVENTS, READY, FakeCellApp, Town, drain

OTHER_ID = AppId(AppKind.CELL_APP, 2, 1)
GIVE = next(index for index, method in enumerate(AVATAR.base_methods) if method.name == "give")


def in_doubt(town: Town, *, is_made: bool) -> ProxyEntity:
    """The link with the CellApp broke before it answered; `is_made`: whether the request arrived."""
    proxy, session = town.attached()
    town.cell.answer = lambda request: town.cell.make(request) if is_made else None
    cut = town.cell.on_tick
    town.cell.on_tick = lambda: None  # type: ignore[method-assign]  # nor is anything heard of what was made
    town.hear(session, READY)
    town.step(2)
    town.cell.on_tick = cut  # type: ignore[method-assign]
    if not is_made:
        town.cell.created.clear()
    town.cell.answer = lambda request: RealCreated()
    town.cell.is_reachable = False
    town.app.on_link_lost(CELL_ID)
    town.step(12, 0.5)
    assert proxy.cell.state is CellPartState.CREATING
    assert told() == []
    return proxy


def mend(town: Town) -> None:
    town.cell.is_reachable = True
    town.app.on_link_up(CELL_ID)
    town.step(60)


def told() -> list[str]:
    return [each[0] for each in EVENTS if each[0].startswith("on_cell")]


def check_next_life(town: Town, proxy: ProxyEntity) -> None:
    """Another cell part is made, with the next number."""
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.step(10)
    assert proxy.has_cell
    assert town.cell.created[-1].life == 1


def offload(town: Town, proxy: ProxyEntity) -> FakeCellApp:
    """The cell part moves on to another CellApp."""
    other = FakeCellApp(town, OTHER_ID)
    assert other.board.arrive(town.cell.board.depart(proxy.cell.part, OTHER_ID))
    return other


def speak(town: Town, other: FakeCellApp) -> None:
    """The other CellApp and the base exchange their messages."""
    for _ in range(4):
        town.host.now += 0.5
        other.on_tick()
        for _, message in drain(other.outbox):
            town.app.on_message(OTHER_ID, message)
        town.app.on_tick()
        for peer, message in drain(town.app.outbox):
            if peer == OTHER_ID:
                other.on_message(BASE_ID, message)
            else:
                town._hear(peer, message)


@pytest.mark.parametrize("is_made", [True, False])
def test_the_link_breaks_before_the_answer_comes(is_made):
    """Whether the question was lost, or the answer: it is asked again, there is one cell part, and it lives."""
    town = Town()
    proxy = in_doubt(town, is_made=is_made)
    assert CELL_ID in town.host.joined
    mend(town)
    assert proxy.has_cell
    assert told() == ["on_cell_created"]
    assert {each.life for each in town.cell.created} == {0}
    assert town.cell.got(SetWitness) == [SetWitness(1, True)]
    assert town.cell.got(DestroyReal) == []
    assert town.cell.board.boxes[proxy.cell.part].channels[proxy.part_id].confirmed == 0


def test_cell_part_that_sends_a_message_exists_without_an_answer_to_its_creation():
    town = Town()
    town.cell.answer = town.cell.make
    proxy, _ = town.ready()
    town.step(60)
    assert proxy.has_cell
    assert told() == ["on_cell_created"]
    assert len(town.cell.created) == 1
    assert town.cell.got(DestroyReal) == []


def test_no_answer_comes_in_time_and_it_is_asked_again():
    town = Town()
    town.cell.answer = lambda request: None
    proxy, _ = town.ready()
    town.step(120)
    assert proxy.cell.state is CellPartState.CREATING
    assert len(town.cell.created) > 1
    town.cell.answer_late()
    town.step(60)
    assert proxy.has_cell
    assert told() == ["on_cell_created"]
    assert town.logs("cell part asked for again")[0]["why"] == "timeout"


def test_cell_part_in_doubt_that_has_moved_is_found_by_its_messages():
    town = Town()
    proxy = in_doubt(town, is_made=True)
    other = offload(town, proxy)
    for _ in range(3):
        speak(town, other)
    assert proxy.has_cell
    assert proxy.cell.where == OTHER_ID
    assert other.got(SetWitness) == [SetWitness(1, True)]
    mend(town)
    assert told() == ["on_cell_created"]
    assert len(town.cell.created) == 1


def test_it_has_moved_on_and_where_it_began_answers():
    town = Town()
    proxy = in_doubt(town, is_made=True)
    other = offload(town, proxy)
    mend(town)
    assert proxy.has_cell
    assert told() == ["on_cell_created"]
    assert proxy.cell.part not in town.cell.board.boxes
    speak(town, other)
    assert proxy.cell.where == OTHER_ID


def test_its_first_word_comes_before_the_answer():
    """The hooks of the base run in order: first that there is a cell part, then the call of that part."""
    town = Town()
    proxy = in_doubt(town, is_made=True)
    other = offload(town, proxy)
    other.say(proxy.id, CallBase(GIVE, AVATAR.base_methods[GIVE].encode_args(3)))
    speak(town, other)
    assert [each[0] for each in EVENTS[-2:]] == ["on_cell_created", "give"]


def test_it_has_ended_meanwhile():
    town = Town()
    proxy = in_doubt(town, is_made=True)
    town.cell.end(proxy.id, hp=3)
    mend(town)
    assert told() == ["on_cell_created", "on_cell_lost"]
    assert proxy.cell.state is CellPartState.NONE
    assert proxy.data.cell["hp"] == 3
    check_next_life(town, proxy)


def test_what_is_refused_when_it_is_asked_again_was_not_made():
    town = Town()
    proxy = in_doubt(town, is_made=False)
    town.cell.answer = lambda request: RealCreated() if request.life else "I have no cell of that space (any more)"
    proxy.cell._deadline += 60.0
    mend(town)
    assert len(town.told(FindEntry)) == 2
    assert proxy.has_cell
    assert town.cell.created[-1].life == 1
    assert told() == ["on_cell_created"]


@pytest.mark.parametrize("is_made", [True, False])
def test_it_is_not_wanted_any_more_meanwhile(is_made):
    town = Town()
    proxy = in_doubt(town, is_made=is_made)
    proxy.part.destroy_cell()
    town.step(10)
    assert proxy.cell.state is CellPartState.CANCELLED
    mend(town)
    assert town.cell.got(DestroyReal) == [DestroyReal()]
    assert told() == []
    town.cell.end(proxy.id)
    town.settle()
    assert told() == ["on_cell_failed"]
    assert not proxy.has_cell


@pytest.mark.parametrize("is_made", [True, False])
def test_the_base_leaves_meanwhile(is_made):
    town = Town()
    proxy = in_doubt(town, is_made=is_made)
    proxy.part.destroy()
    town.step(10)
    assert proxy.id in town.app.bases
    mend(town)
    assert town.cell.got(DestroyReal) == [DestroyReal()]
    town.cell.end(proxy.id)
    town.step(10)
    assert proxy.id not in town.app.bases
    assert proxy.cell.part not in town.cell.board.boxes


def test_the_base_leaves_and_it_is_refused():
    town = Town()
    proxy = in_doubt(town, is_made=False)
    town.cell.answer = lambda request: "I have no cell of that space (any more)"
    proxy.part.destroy()
    mend(town)
    assert proxy.id not in town.app.bases
    assert town.cell.got(DestroyReal) == []


def test_another_is_not_asked_for_meanwhile():
    town = Town()
    proxy = in_doubt(town, is_made=True)
    with pytest.raises(UsageError, match="creating"):
        proxy.part.create_cell("plaza", (0, 0, 0))


def test_the_cell_app_that_was_asked_is_gone_for_good():
    town = Town()
    proxy = in_doubt(town, is_made=False)
    town.app.on_link_up(CELL_ID._replace(incarnation=2))
    assert EVENTS[-1] == ("on_cell_failed", f"{CELL_ID} is dead")
    assert proxy.cell.state is CellPartState.LOST
    town.cell.is_reachable = True
    check_next_life(town, proxy)


def test_the_cell_app_that_was_asked_is_gone_for_good_and_the_cell_part_had_moved_on():
    town = Town()
    proxy = in_doubt(town, is_made=True)
    other = offload(town, proxy)
    town.app.on_app_dead(CELL_ID)
    assert proxy.cell.state is CellPartState.LOST
    other.say(proxy.id, CallBase(GIVE, AVATAR.base_methods[GIVE].encode_args(3)))
    speak(town, other)
    assert proxy.cell.where == OTHER_ID
    assert told() == ["on_cell_failed", "on_cell_created"]
    proxy.part.cell.heal(1)
    speak(town, other)
    assert len(other.got(CallCell)) == 1


def test_the_cell_app_that_was_asked_is_gone_for_good_and_the_base_leaves():
    town = Town()
    proxy = in_doubt(town, is_made=False)
    proxy.part.destroy()
    town.app.on_app_dead(CELL_ID)
    town.step(5)
    assert proxy.id not in town.app.bases


def test_an_answer_that_comes_late_changes_nothing():
    town = Town()
    town.cell.answer = lambda request: None
    proxy, _ = town.ready()
    town.step(51)
    town.cell.answer_late()
    town.step(60)
    assert town.app.requests.late == 1
    assert proxy.has_cell
    assert told() == ["on_cell_created"]
