"""Batches of datagrams: both forms hold the same, and sockets fill and empty them."""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path

import pytest

import terrazzo.runtime
from terrazzo._speed import COMPILED
from terrazzo._speed.datagrams import Batch
from terrazzo.runtime import batches
from tests.speed.forms import FORMS, form_of

ADDRESSES = [
    ("192.0.2.1", 1000),
    ("::1", 65535, 0, 0),
    ("fe80::1", 7, 0xFFFFF, 3),
    "a name in the simulator",
    ("host", 1),
    ("192.0.2.1", 70000),
    ("192.0.2.1", 1000, 5),
    ("192.0.2.\0", 1),
    ("2001:db8::7", 9, 1 << 21, 0),
    None,
]


@pytest.fixture(params=FORMS)
def batch(request):
    return form_of(request.param, "datagrams").Batch()


def test_a_batch_gives_what_was_added(batch):
    for at, address in enumerate(ADDRESSES):
        batch.add(address, bytes(range(at)) * 300)
    assert len(batch) == len(ADDRESSES)
    assert [batch[at] for at in range(len(batch))] == [
        (address, bytes(range(at)) * 300) for at, address in enumerate(ADDRESSES)
    ]
    with pytest.raises(IndexError):
        batch[len(ADDRESSES)]


def test_the_first_can_be_dropped_and_more_added(batch):
    for at in range(100):
        batch.add(("192.0.2.1", at), bytes((at,)))
    batch.drop(40)
    batch.add("last", b"last")
    assert len(batch) == 61
    assert batch[0] == (("192.0.2.1", 40), bytes((40,)))
    assert batch[60] == ("last", b"last")
    batch.drop(61)
    assert len(batch) == 0
    batch.add("new", b"new")
    assert batch[0] == ("new", b"new")
    batch.clear()
    assert len(batch) == 0


def plain_batches():
    path = Path(terrazzo.runtime.__file__ or "").with_name("batches.py")
    spec = importlib.util.spec_from_file_location("plain_batches", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["plain", "compiled"] if COMPILED else ["plain"])
def calls(request):
    return plain_batches() if request.param == "plain" else batches


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6])
def pair(request):
    host = "127.0.0.1" if request.param == socket.AF_INET else "::1"
    made = []
    try:
        for _ in range(2):
            one = socket.socket(request.param, socket.SOCK_DGRAM)
            made.append(one)
            one.setblocking(False)
            one.bind((host, 0))
    except OSError:
        pytest.skip("this machine has no such addresses")
    yield made
    for one in made:
        one.close()


def test_datagrams_go_through_a_socket_in_order_with_their_addresses(calls, pair):
    one, other = pair
    out = Batch()
    sizes = [0, 1, 85, 1200, 2048, 2049, *range(100)]
    for size in sizes:
        out.add(other.getsockname(), bytes(at & 0xFF for at in range(size)))
    assert calls.send(one, out) == 0
    assert len(out) == 0
    come = Batch()
    assert calls.receive(other, come, 50) == 0
    assert len(come) == 50, "no more than asked for"
    while len(come) < len(sizes):
        before = len(come)
        assert calls.receive(other, come, 64) == 0
        assert len(come) > before
    for at, size in enumerate(sizes):
        address, data = come[at]
        assert address == one.getsockname()
        assert data == bytes(each & 0xFF for each in range(min(size, 2048)))
    assert calls.receive(other, Batch(), 64) == 0, "nothing is there any more"


def test_what_cannot_be_sent_is_counted_and_the_rest_is_sent(calls, pair):
    one, other = pair
    out = Batch()
    out.add(other.getsockname(), b"first")
    out.add(other.getsockname(), bytes(70_000))
    out.add(other.getsockname(), b"last")
    assert calls.send(one, out) == 1
    come = Batch()
    calls.receive(other, come, 64)
    assert [come[at][1] for at in range(len(come))] == [b"first", b"last"]


def test_what_the_system_does_not_take_stays(calls):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

    class Full:
        """A socket with a buffer that is full after two datagrams."""

        def __init__(self) -> None:
            self.taken: list[bytes] = []

        def fileno(self) -> int:
            return one.fileno()

        def sendto(self, data: bytes, address: object) -> int:
            if len(self.taken) == 2:
                raise BlockingIOError
            self.taken.append(data)
            return len(data)

    with one, other:
        if calls is batches and COMPILED:
            pytest.skip("the compiled form asks the system, which is not full")
        out = Batch()
        for at in range(5):
            out.add("anywhere", bytes((at,)))
        full = Full()
        assert calls.send(full, out) == 0
        assert full.taken == [b"\0", b"\1"]
        assert len(out) == 3
