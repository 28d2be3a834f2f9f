"""Passwords: the stored hash does not reveal them, and only the right one fits it."""

from __future__ import annotations

import random
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo.db.passwords import Cost, Hasher
from terrazzo.db.store import StoreError

CHEAP = Cost(log_n=1, r=1)


def hasher(seed=1, cost=CHEAP):
    return Hasher(random.Random(seed).randbytes, cost)


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
@settings(max_examples=50, deadline=None)
def test_the_password_and_no_other(password, other):
    made = hasher()
    kept = made.hash(password)
    assert made.check(password, kept)
    assert made.check(other, kept) == (made.check(password, made.hash(other)))


def test_a_known_answer():
    """RFC 7914, section 12: scrypt of "pleaseletmein" with salt "SodiumChloride", n=16384, r=8, p=1, first 32 bytes."""
    key = bytes.fromhex("7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
    kept = "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$" + b64encode(key).decode().rstrip("=")
    assert hasher().check("pleaseletmein", kept)
    assert not hasher().check("pleaseletmeout", kept)


def test_the_default_cost_is_the_one_promised():
    kept = Hasher(random.Random(1).randbytes).hash("x")
    assert kept.startswith("$scrypt$ln=14,r=8,p=1$")


def test_the_same_password_is_kept_differently_each_time():
    made = hasher()
    assert made.hash("secret") != made.hash("secret")
    assert "secret" not in made.hash("secret")


def test_a_hash_is_checked_at_the_cost_it_was_made():
    kept = hasher(cost=Cost(log_n=2, r=2, p=2)).hash("secret")
    assert hasher().check("secret", kept)


def test_composed_and_decomposed_letters_are_the_same_password():
    made = hasher()
    assert made.check("a\N{COMBINING DIAERESIS}", made.hash("ä"))


def test_no_hash_is_nobodys_password_and_costs_as_much(monkeypatch):
    costs = []

    class Counted:
        def __init__(self, *, salt, length, n, r, p):
            costs.append((n, r, p))

        def derive(self, password):
            return bytes(32)

    made = hasher()
    kept = made.hash("x")
    monkeypatch.setattr("terrazzo.db.passwords.Scrypt", Counted)
    made.check("y", kept)
    assert made.check("y", None) is False
    assert costs == [(2, 1, 1)] * 2


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "secret",
        "$argon2$ln=14,r=8,p=1$AAAA$AAAA",
        "$scrypt$ln=14,r=8,p=1$AAAA$AAAA",
        "$scrypt$ln=99,r=8,p=1$AAAA$" + "A" * 43,
        "$scrypt$ln=14,r=0,p=1$AAAA$" + "A" * 43,
        "$scrypt$ln=14,r=8,p=1$A$" + "A" * 43,
        "$scrypt$ln=14,r=8,p=1$AAAA$" + "_" * 43,
    ],
)
def test_a_hash_that_cannot_be_read_is_an_error_and_not_a_match(kept):
    with pytest.raises(StoreError, match="give this account a new password"):
        hasher().check("secret", kept)
