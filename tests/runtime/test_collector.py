"""What a tick leaves is set aside, and looked at in the end."""

import gc
import weakref

import pytest

from terrazzo.runtime.collector import WHOLE_S, Aside


class Knot:
    """Refers to itself: only the collector can free it."""

    def __init__(self):
        self.me = self


@pytest.fixture(autouse=True)
def collector_as_before():
    yield
    gc.unfreeze()
    gc.collect()


def test_objects_set_aside_are_not_scanned_before_their_time():
    aside = Aside(1000.0)
    knot = weakref.ref(Knot())
    assert knot() is not None
    aside.set_aside(1000.1)
    gc.collect()
    assert knot() is not None
    aside.set_aside(1000.0 + WHOLE_S)
    assert knot() is None


def test_objects_without_cycles_are_freed_at_once():
    aside = Aside(1000.0)
    plain = [Knot()]
    del plain[0].me
    seen = weakref.ref(plain[0])
    aside.set_aside(1000.1)
    plain.clear()
    assert seen() is None
