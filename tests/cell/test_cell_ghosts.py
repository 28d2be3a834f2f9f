"""The life of a ghost: every script of three homes of its real, in every interleaving that ordered links allow."""

from __future__ import annotations

import struct

import pytest

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.ghosts.mending import ASKED_MAX, GAP_S
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import GhostPlaces, Offload, UpdateGhost, WantSnapshot
from tests.cell.cast import LandHost
from tests.cell.forms import IS_PLAIN
from tests.cell.ghost_orders import check_word, deliver, found, in_order, wipe
from tests.cell.ghost_script import HOMES, Script, interleavings, place_of, scripts


def test_every_script_in_every_order_gives_the_same_ghost(strict_app):
    """Create, update, next-real, set-real, delete, destroy, create again, over three homes."""
    entity = 1
    words = list(scripts(5 if IS_PLAIN else 6))
    for word in words:
        entity = check_word(strict_app, word, entity)
    assert len(words) > (100 if IS_PLAIN else 300)
    assert entity > (600 if IS_PLAIN else 5000)


def test_rows_of_places_in_every_order(strict_app):
    """Each step came in a message of many: it goes by another way, straight into the arrays where it can."""
    entity = 1
    for word in scripts(4 if IS_PLAIN else 5):
        for order in interleavings(Script(word, 0).links):
            script = Script(word, entity)
            for source, message in in_order(script, order):
                strict_app.on_message(source, as_row(message) if isinstance(message, UpdateGhost) else message)
            body = strict_app.bodies.get(entity)
            now = None if body is None else (body.number, body.epoch, body.real_app)
            assert now == script.expected, (word, order)
            assert body is None or body.position == place_of(body.number)
            assert entity not in strict_app.receiver.held, (word, order)
            entity += 1
        wipe(strict_app)


def as_row(step: UpdateGhost) -> GhostPlaces:
    place = (*step.position, *step.direction)
    return GhostPlaces(1, struct.pack("<iqq6f", step.entity, step.epoch, step.number, *place))


@pytest.mark.parametrize("word", ["cumudmcu", "cmdcumuu", "cudmcudmcu", "cumdmcuu", "cumudcmu", "cudcumdmcx"])
def test_longer_lives(strict_app, word):
    check_word(strict_app, word, 1)


@pytest.mark.parametrize("word", ["cu", "cuu", "cumu", "cmuu", "cumum", "cmumu", "cudmcu", "cudmcmu"])
@pytest.mark.parametrize("is_past_long", [True, False])
def test_the_real_itself_comes_in_any_order(strict_app, word, is_past_long):
    """With its whole past it begins at once; else when the ghost has all steps. What comes later changes nothing."""
    entity = 1
    orders = list(interleavings(_coming_over(word, 0, is_past_long).links))
    for order in orders:
        script = _coming_over(word, entity, is_past_long)
        for source, message in in_order(script, order):
            strict_app.on_message(source, message)
            found(strict_app, entity)
            if isinstance(message, Offload) and is_past_long:
                assert entity in strict_app.reals
        assert found(strict_app, entity) == (script.number, script.epoch + 1, strict_app.me)
        assert entity in strict_app.reals
        assert entity not in strict_app.receiver.held
        entity += 1
    for real in list(strict_app.reals.values()):
        strict_app.core.mark_destroyed(real)
    strict_app.on_tick()
    assert not strict_app.bodies


def _coming_over(word: str, entity: int, is_past_long: bool) -> Script:
    script = Script(word, entity)
    script.come_over(0 if is_past_long else script.number)
    return script


def test_any_lost_message_is_mended(strict_app):
    """Each message of each script is lost with its link; then the links are up again."""
    entity = 0
    for word in scripts(4 if IS_PLAIN else 5):
        count = sum(map(len, Script(word, 0).links))
        for lost in range(count):
            entity += 1
            script = Script(word, entity)
            order = [(home, message) for home, link in zip(HOMES, script.links, strict=True) for message in link]
            del order[lost]
            deliver(strict_app, order, entity)
            mend(strict_app, script)
            assert found(strict_app, entity) == script.expected, (word, lost)
            assert entity not in strict_app.receiver.held
            wipe(strict_app)


@pytest.mark.parametrize("knows_the_next", [True, False])
def test_any_lost_message_in_any_order_is_mended(strict_app, knows_the_next):
    """A former home may have the next place of the real, or none."""
    entity = 0
    for word in scripts(3 if IS_PLAIN else 4):
        for order in interleavings(Script(word, 0).links):
            for lost in range(len(order)):
                entity += 1
                script = Script(word, entity)
                left = in_order(script, order)
                del left[lost]
                deliver(strict_app, left, entity)
                mend(strict_app, script, rounds=ASKED_MAX + 4, knows_the_next=knows_the_next)
                assert found(strict_app, entity) == script.expected, (word, order, lost)
                assert entity not in strict_app.receiver.held
        wipe(strict_app)
    assert entity > (200 if IS_PLAIN else 3000)


def mend(app: CellApp, script: Script, *, rounds: int = 6, knows_the_next: bool = True) -> None:
    """The links are up again; time passes; each app answers what it is asked."""
    words = script.said_again()
    for _ in range(rounds):
        for source, message in words:
            app.on_message(source, message)
        words = []
        assert isinstance(app.host, LandHost)
        app.host.now += GAP_S
        app.receiver.on_tick()
        for peer, bundles in app.outbox.drain():
            asked = [each for bundle in bundles for each in REGISTRY.decode_bundle(bundle)]
            if knows_the_next or peer == script.home:
                words += [(peer, script.snapshot(peer)) for each in asked if isinstance(each, WantSnapshot)]
