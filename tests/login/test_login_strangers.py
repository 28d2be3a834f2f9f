"""What LoginApp's sessions are to its doors: strangers until a login is under way."""

from __future__ import annotations

import pytest

from terrazzo.wire.login_refusals import LoginRefusal
from tests.login.test_loginapp import Door


@pytest.mark.parametrize("knock", [{"name": ""}, {"digest": "another"}, {"raw": b"junk"}])
def test_session_with_a_refused_request_stays_a_stranger(knock):
    door = Door()
    session = door.knock(**knock)
    door.tick()
    assert session.steps == []


def test_refusals_have_their_sentences_beside_those_of_the_doors():
    door = Door()
    door.app.refused_outside = lambda: [{"door": "udp", "reason": "kind", "count": 2, "sentence": "No such kind."}]
    door.knock(raw=b"junk")
    door.tick()
    assert door.app.refused_clients() == [
        {"door": "udp", "reason": "kind", "count": 2, "sentence": "No such kind."},
        {"door": "login", "reason": "malformed", "count": 1, "sentence": LoginRefusal.MALFORMED.sentence},
    ]


def test_refusals_that_cost_a_client_nothing_are_logged_ever_more_rarely():
    door = Door()
    for _ in range(20):
        door.knock(raw=b"junk")
    door.tick()
    assert door.app.refused == {LoginRefusal.MALFORMED: 20}
    counts = [facts["count"] for event, facts in door.host.logged if event == "login refused"]
    assert counts == [1, 2, 4, 8, 16]
