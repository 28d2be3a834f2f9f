"""Ghost messages from several reals of one entity, in every interleaving that ordered links allow (stories 1 to 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from terrazzo.cell.ghost import GRAVE_S, HELD_S, HELD_STEPS_MAX, SUCCESSOR_S
from terrazzo.schema.changes import encode_internal
from terrazzo.schema.state import State
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, NextReal, UpdateGhost
from tests.cell.land import BASE, Land
from tests.cell.plain import AVATAR

A, B, D = (AppId(AppKind.CELL_APP, index, 1) for index in (10, 11, 12))


def state_after(number: int) -> State:
    state = State(AVATAR.ghost_layout)
    state["steps"] = number & 0xFFFF
    return state


def create(epoch: int, number: int, entity: int = 1) -> CreateGhost:
    place = (float(number), 0.0, 0.0)
    return CreateGhost(entity, AVATAR.type_id, 1, epoch, number, place, 0.0, state_after(number).encode(), BASE)


def update(epoch: int, number: int) -> UpdateGhost:
    """Step `number` sets `steps` to it, so that the state always tells which steps are in it."""
    items: list[bytes] = []
    state = State(AVATAR.cell_layout, lambda change: items.append(encode_internal(change, change.prop)))
    state["steps"] = number
    return UpdateGhost(1, epoch, number, tuple(items), (float(number), 0.0, 0.0), 0.0)


def delete(epoch: int, is_destroyed: bool = False) -> DeleteGhost:
    return DeleteGhost(1, epoch, is_destroyed)


def interleavings(links: Sequence[Sequence[Message]]) -> Iterator[list[tuple[int, Message]]]:
    """Every order in which the links can deliver, each being in order by itself."""
    if not any(links):
        yield []
    for index, link in enumerate(links):
        if link:
            rest = [*links[:index], link[1:], *links[index + 1 :]]
            for tail in interleavings(rest):
                yield [(index, link[0]), *tail]


def check_all(links: Sequence[Sequence[Message]], expected: tuple[int, int, AppId] | None) -> int:
    """Delivers in every order; the numbers of the ghost only grow, and at the end it is what is expected."""
    count = 0
    for order in interleavings(links):
        land = Land(1)
        last = -1
        for index, message in order:
            land[0].on_message((A, B, D)[index], message)
            body = land[0].bodies.get(1)
            if body is not None:
                assert body.state["steps"] == body.number >= last
                assert body.position[0] == body.number
                last = body.number
        body = land[0].bodies.get(1)
        found = None if body is None else (body.number, body.epoch, body.real_app)
        assert found == expected, order
        assert not land[0].ghosts.held
        assert not land[0].ghosts.successors
        count += 1
    return count


def test_a_ghost_follows_from_one_real_to_the_next():
    first = [create(0, 0), update(0, 1), update(0, 2), NextReal(1, 1, B)]
    second = [update(1, 3), update(1, 4), update(1, 5)]
    assert check_all([first, second], (5, 1, B)) == 35


def test_three_reals_one_after_the_other():
    links: list[list[Message]] = [[create(0, 0), update(0, 1)], [update(1, 2), update(1, 3)], [update(2, 4)]]
    assert check_all(links, (4, 2, D)) == 30


def test_a_late_deletion_does_not_undo_a_newer_ghost():
    """Story 2: A deletes its ghost, B creates one."""
    first = [create(0, 0), update(0, 1), delete(0)]
    second = [create(1, 4), update(1, 5)]
    check_all([first, second], (5, 1, B))


def test_a_late_creation_does_not_undo_a_deletion():
    """B, to whom the real went with its haunts, deletes the ghost that A has only just created."""
    check_all([[create(0, 0), update(0, 1)], [update(1, 2), delete(1)]], None)


def test_deleted_and_created_again_by_one_real_while_another_is_late():
    first = [create(0, 0), update(0, 1)]
    second = [delete(1), create(1, 3), update(1, 4)]
    check_all([first, second], (4, 1, B))


def test_two_creators_and_no_step_between_them():
    """Story 3, the simple case: nothing happened, it is the same ghost all along."""
    check_all([[create(0, 7), delete(0)], [create(1, 7)]], (7, 1, B))


def test_destruction_overtakes_everything():
    """Story 5."""
    check_all([[create(0, 0), update(0, 1)], [update(1, 2), delete(1, True)]], None)


def test_a_new_life_comes_while_the_old_one_is_ending():
    life = 1 << 32
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(B, create(life, life))
    assert land[0].bodies[1].number == 3, "the old one goes on to its end"
    land[0].on_message(A, delete(0, True))
    assert land[0].bodies[1].number == life
    land[0].on_message(A, update(0, 4))
    land[0].on_message(A, delete(0, True))
    assert land[0].bodies[1].number == life


def test_a_successor_whose_turn_never_comes_takes_over_in_the_end():
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(B, create(1, 6))
    land[0].on_message(B, update(1, 7))
    land.step(int(SUCCESSOR_S * 10) - 2)
    assert land[0].bodies[1].number == 3
    land.step(4)
    assert land[0].bodies[1].number == 7
    assert land[0].counts["ghost successor without deletion"] == 1


def test_after_a_broken_link_the_same_real_tells_everything_anew():
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(A, create(0, 9))
    assert land[0].bodies[1].state["steps"] == 9


def test_what_is_held_is_bounded_and_given_up_in_time():
    land = Land(1)
    for number in range(1, HELD_STEPS_MAX + 50):
        land[0].on_message(B, update(1, number))
    assert len(land[0].ghosts.held[1].steps) == HELD_STEPS_MAX
    land.step(int(HELD_S * 10) + 2)
    assert not land[0].ghosts.held
    assert land.host.words("held steps given up")


def test_graves_are_forgotten():
    land = Land(1)
    land[0].on_message(A, delete(5, True))
    land[0].on_message(B, create(4, 1))
    assert not land[0].bodies
    land.step(int(GRAVE_S * 10) + 2)
    assert not land[0].ghosts.graves


@pytest.mark.parametrize(
    "message",
    [
        CreateGhost(1, 99, 1, 0, 0, (0.0, 0.0, 0.0), 0.0, b"", BASE),
        CreateGhost(1, AVATAR.type_id, 1, 0, 0, (0.0, 0.0, 0.0), 0.0, b"\x01", BASE),
    ],
)
def test_a_ghost_that_cannot_be_is_refused(message):
    land = Land(1)
    land[0].on_message(A, message)
    assert not land[0].bodies
    assert sum(land[0].counts.values()) == 1


def test_steps_that_do_not_decode_change_nothing_else():
    land = Land(1)
    land[0].on_message(A, create(0, 0))
    land[0].on_message(A, UpdateGhost(1, 0, 1, (b"\x63", b"\x80", b"\x80\xff\xff", b""), (1.0, 0.0, 0.0), 0.0))
    assert land[0].bodies[1].number == 1
    assert land[0].counts["step that does not decode"] == 4


def test_a_ghost_may_come_before_the_tree_of_its_space():
    land = Land(1)
    late = create(0, 0)
    land[0].on_message(A, CreateGhost(1, AVATAR.type_id, 77, 0, 0, (0.0, 0.0, 0.0), 0.0, late.properties, BASE))
    land.step(2)
    assert 1 in land[0].spaces[77].bodies
