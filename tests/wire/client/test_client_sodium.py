"""libsodium and `cryptography` make the same packets; without libsodium the compiled session still works."""

from __future__ import annotations

import random
import sys

import pytest

from terrazzo._speed import COMPILED
from terrazzo.wire.client import PLAIN, Drop, Suite, kernel, sodium
from tests.wire.client.client_harness import HOME, EndpointPair

suites = pytest.mark.parametrize("suite", Suite)


@suites
@pytest.mark.skipif(not COMPILED, reason="only compiled code calls libsodium")
def test_both_libraries_seal_and_open_the_same_bytes(suite):
    """The compiled session seals with libsodium where it is there, the plain one with `cryptography`."""
    pairs = [EndpointPair(suite=suite, form=form).connect() for form in (PLAIN, kernel.FORM)]
    plain, compiled = (pair.down for pair in pairs)
    rng = random.Random(5)
    for _ in range(2000):
        number = rng.choice([rng.randrange(100), rng.randrange(1 << 48)])
        body, header = rng.randbytes(rng.randrange(1175)), rng.randbytes(9)
        assert plain._seal(number, body, header) == compiled._seal(number, body, header)


@suites
def test_functions_are_found_or_not_at_all(suite, monkeypatch):
    found = sodium.find(suite)
    assert (found.encrypt == 0) == (found.decrypt == 0)
    monkeypatch.setitem(sys.modules, "nacl._sodium", None)
    assert sodium.find(suite) == sodium.Functions()


@pytest.mark.parametrize("missing", ["sodium_init", "crypto_aead_chacha20poly1305_ietf_decrypt"])
def test_a_module_that_is_not_as_expected_is_not_used(missing, monkeypatch):
    nacl = pytest.importorskip("nacl._sodium")
    lib = nacl.lib

    class Other:
        def __getattr__(self, name):
            if name == missing:
                raise AttributeError(name)
            return getattr(lib, name)

    monkeypatch.setattr(nacl, "lib", Other())
    assert sodium.find(Suite.CHACHA20_POLY1305) == sodium.Functions()


def test_a_library_that_seals_otherwise_is_not_used(monkeypatch):
    nacl = pytest.importorskip("nacl._sodium")
    lib = nacl.lib

    class Wrong:
        def __getattr__(self, name):
            if name.endswith("_encrypt"):
                return lambda *arguments: 0
            return getattr(lib, name)

    monkeypatch.setattr(nacl, "lib", Wrong())
    assert sodium.find(Suite.CHACHA20_POLY1305) == sodium.Functions()


@suites
@pytest.mark.skipif(not COMPILED, reason="only compiled code calls libsodium")
def test_without_libsodium_a_session_works_the_same(suite, monkeypatch):
    with_it = exchange(suite)
    monkeypatch.setattr(sodium, "find", lambda suite: sodium.Functions())
    kernel._find_sodium()  # type: ignore[attr-defined]
    try:
        assert not kernel.has_sodium(suite)  # type: ignore[attr-defined]
        assert exchange(suite).heard == with_it.heard
    finally:
        monkeypatch.undo()
        kernel._find_sodium()  # type: ignore[attr-defined]


def exchange(suite: Suite) -> EndpointPair:
    """A session in which both sides send, and a packet comes damaged."""
    pair = EndpointPair(suite=suite).connect()
    pair.up.send_many([b"x" * 3000, b"y"])
    pair.down.send(b"z" * 500, reliable=False)
    pair.run(0.5)
    last = next(data for way, data in reversed(pair.heard) if way == "up")
    pair.server.on_datagram(HOME, last[:5] + b"\xff" + last[6:], pair.now)
    assert pair.at_server == [b"x" * 3000, b"y"]
    assert pair.server.drops[Drop.FORGED] == 1
    return pair
