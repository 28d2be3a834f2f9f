"""Banned networks: which addresses are in them."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.wire.banned import Banned, read_network


def banned(*networks: str) -> Banned:
    return Banned(map(read_network, networks))


@pytest.mark.parametrize(
    ("network", "inside", "outside"),
    [
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("192.0.2.7/24", "192.0.2.255", "192.0.3.1"),
        ("2001:db8::7", "2001:db8::ffff", "2001:db8:0:1::7"),
        ("2001:db8::/32", "2001:db8:5::1", "2001:db9::1"),
        ("2001:db8::7/128", "2001:db8::7", "2001:db8::8"),
        ("192.0.2.7", "::ffff:192.0.2.7", "::ffff:192.0.2.8"),
        ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.8"),
    ],
)
def test_ban_holds_for_the_addresses_of_its_network(network, inside, outside):
    assert banned(network).has(inside)
    assert not banned(network).has(outside)


@pytest.mark.parametrize("text", ["", "here", "192.0.2", "192.0.2.7/33", "0.0.0.0/0", "::/0"])
def test_what_is_no_network_or_every_address_is_refused(text):
    with pytest.raises(ValueError):
        read_network(text)


def test_text_that_is_no_address_is_never_banned():
    assert not banned("192.0.2.0/24").has("client-1")
    assert not Banned().has("192.0.2.1")


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 32)), max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_lookup_equals_a_search_through_all_networks(networks, number):
    made = [ip_network(each, strict=False) for each in networks]
    address = ip_address(number)
    assert Banned(made).has(str(address)) == any(address in each for each in made)
