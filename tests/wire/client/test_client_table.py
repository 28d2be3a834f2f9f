"""The table of sessions (`table.py` and its compiled form): a number belongs to the session that has it now."""

import pytest

from terrazzo.wire.client import SERVER, UDP, Suite
from terrazzo.wire.client.kernel import FORM, PLAIN
from terrazzo.wire.client.limits import Drops
from tests.wire.client.client_harness import AWAY, HOME, entropy_of

NUMBER = 7


def session_of(form, address):
    return form.session(
        own_id=NUMBER, peer_id=1, suite=Suite.CHACHA20_POLY1305, send_key=bytes(32), receive_key=bytes(32),
        address=address, transport=UDP, settings=SERVER, entropy=entropy_of(1), drops=Drops(), now=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("form", [PLAIN, FORM], ids=["plain", "as imported"])
def test_removal_of_an_earlier_session_leaves_a_later_one_with_its_number(form):
    table = form.table(UDP.packet_bytes_max, lambda session, now: None)
    earlier, later = session_of(form, HOME), session_of(form, AWAY)
    table.add(earlier)
    table.add(later)
    assert not table.remove(earlier)
    assert table.sessions == {NUMBER: later}
    later.send(b"still here")
    assert [address for address, _ in table.poll(0.0, None) if address == AWAY] == [AWAY]
    assert table.remove(later)
    assert not table.remove(later)
    assert not table.sessions
