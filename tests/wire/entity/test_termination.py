"""Which parts get the end of a part, and with what."""

from __future__ import annotations

import pytest

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.messages import Frame, Outgoing
from terrazzo.wire.entity.termination import EndedParts, is_answered
from terrazzo.wire.ids import AppId, AppKind, Part, PartId, first_of_life
from tests.wire.entity.entity_harness import X, Y

HERE, THERE = (AppId(AppKind.CELL_APP, index, 1) for index in (1, 2))
BASE = PartId(X.entity, Part.BASE)
LIFE = first_of_life(3)


def frame(source: PartId = Y, heard: int = LIFE, *, has_mail: bool = False, is_last: bool = False, **said) -> Frame:
    """A frame for X, which had the version `LIFE` here."""
    payloads = (b"call",) if has_mail else ()
    stream = Outgoing(1, 0, 0, 0, payloads, is_last) if has_mail or is_last else None
    return Frame(X, source, THERE, 0, heard, 0, stream, **said)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (frame(), True),
        (frame(is_last=True), True),
        (frame(has_mail=True), False),
        (frame(BASE, has_mail=True), True),
        (frame(heard=first_of_life(4)), False),
        (frame(heard=first_of_life(2)), True),
        (frame(has_mail=True, is_over=True), False),
    ],
)
def test_end_of_a_part_is_answered_only_to_peers_that_need_it(asked, answered):
    assert is_answered(asked, LIFE, None) == answered


def test_two_parts_that_end_together_are_answered_before_the_base_has_noted():
    box = Mailbox(X, LIFE)
    box.end()
    assert not is_answered(frame(has_mail=True, is_over=True), LIFE, box)
    box.open.add(Y)
    assert is_answered(frame(has_mail=True, is_over=True), LIFE, box)
    assert not is_answered(frame(has_mail=True), LIFE, box)


def test_the_end_is_repeated_and_a_note_is_answered_with_nothing_but_a_note():
    endings = EndedParts(HERE, Channel)
    end = endings.repeat(frame(asks=True), LIFE, 100.0, ChannelLimits())
    assert end is not None
    assert (end.to, end.source, end.version, end.is_over, end.is_noted) == (Y, X, LIFE, True, False)
    note = endings.repeat(frame(is_noted=True, is_over=True), LIFE, 100.0, ChannelLimits())
    assert note is not None
    assert (note.is_over, note.is_noted) == (False, True)
    assert endings.repeat(frame(is_noted=True), LIFE, 100.0, ChannelLimits()) is None


def test_an_end_is_remembered_for_a_while():
    endings = EndedParts(HERE, Channel)
    endings.remember(Mailbox(X, LIFE), until=200.0)
    assert (endings.version_of(X), endings.version_of(Y)) == (LIFE, None)
    assert endings.forget_old(199.0) == []
    assert endings.forget_old(200.0) == [(X, LIFE)]
    assert endings.version_of(X) is None
