"""What a request must be, and how often an address may try."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.login.checks import REQUEST_BYTES_MAX, read_request
from terrazzo.sync.protocol import LoginRequest
from terrazzo.wire.addresses import subscriber
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.login_db import NAME_MAX, PASSWORD_MAX
from terrazzo.wire.rates import RateLimit


def packed(name="Ada", password="secret", digest="d", **more):
    return json.dumps({"name": name, "password": password, "digest": digest, **more}).encode()


def test_a_request_is_read():
    assert read_request(packed("Ada Müller", "pass word ")) == LoginRequest("Ada Müller", "pass word ", "d")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"name": "Ada"}',
        b'{"name": 1, "password": "x", "digest": "d"}',
        b'{"name": "\xff", "password": "x", "digest": "d"}',
        packed(more=1),
        packed()[:-1],
        b"[" * 2000,
        packed(digest="d" * REQUEST_BYTES_MAX),
    ],
)
def test_bytes_that_are_no_request_are_refused(message):
    assert read_request(message) is LoginRefusal.MALFORMED


@given(st.binary(max_size=200))
def test_any_bytes_give_a_request_or_a_refusal(message):
    assert isinstance(read_request(message), LoginRequest | LoginRefusal)


@pytest.mark.parametrize(
    "name",
    ["", " Ada", "Ada ", "\u3000Ada", "A\nda", "A\x00da", "A\u200bda", "A\u202eda", "A\xa0da", "a" * (NAME_MAX + 1)],
)
def test_names_that_cannot_be(name):
    assert read_request(packed(name)) is LoginRefusal.NAME


@pytest.mark.parametrize("name", ["a", "Ada Lovelace", "Łódź", "名前", "😀", "a" * NAME_MAX])
def test_names_that_can_be(name):
    assert isinstance(read_request(packed(name)), LoginRequest)


def test_the_length_of_a_password():
    assert read_request(packed(password="")) is LoginRefusal.PASSWORD
    assert read_request(packed(password="x" * (PASSWORD_MAX + 1))) is LoginRefusal.PASSWORD
    assert isinstance(read_request(packed(password="x" * PASSWORD_MAX)), LoginRequest)


def test_the_longest_good_request_is_not_too_long():
    assert isinstance(read_request(packed("😀" * NAME_MAX, "😀" * PASSWORD_MAX, "f" * 64)), LoginRequest)


# Rates.


def test_a_burst_then_one_for_each_period():
    rate = RateLimit(per_s=0.5, burst=3)
    assert [rate.take("192.0.2.1", 10.0) for _ in range(4)] == [True, True, True, False]
    assert rate.take("192.0.2.2", 10.0)
    assert not rate.take("192.0.2.1", 11.5)
    assert rate.take("192.0.2.1", 12.5)
    assert not rate.take("192.0.2.1", 12.6)


def test_a_bucket_does_not_overflow():
    rate = RateLimit(per_s=1.0, burst=2)
    rate.take("192.0.2.1", 0.0)
    assert [rate.take("192.0.2.1", 1000.0) for _ in range(3)] == [True, True, False]


def test_table_drops_the_address_that_was_quiet_longest():
    rate = RateLimit(per_s=0.0, burst=1, addresses_max=3)
    for address in ("a", "b", "c", "a", "d"):
        rate.take(address, 0.0)
    assert len(rate) == 3
    assert not rate.take("a", 0.0)
    assert rate.take("b", 0.0)


def test_what_counts_of_an_address():
    assert subscriber("192.0.2.1") == subscriber("::ffff:192.0.2.1") == "192.0.2.1"
    assert subscriber("2001:db8::1") == subscriber("2001:db8::ffff:2")
    assert subscriber("2001:db8::1") != subscriber("2001:db8:0:1::1")
    assert subscriber("client-7") == "client-7"
