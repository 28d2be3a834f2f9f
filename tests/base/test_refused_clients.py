"""What a BaseApp refuses to clients is counted by reason; a session is a stranger until its key has proved right."""

from __future__ import annotations

from tests.base.base_harness import Town


def counted(town):
    return {each["reason"]: each["count"] for each in town.app.refused_clients()}


def test_session_with_the_right_key_is_admitted():
    _, session = Town().attached()
    assert session.is_admitted


def test_session_with_a_wrong_key_stays_a_stranger_and_is_counted():
    town = Town()
    session = town.connect(bytes(16))
    assert not session.is_admitted
    assert counted(town) == {"wrong_key": 1}


def test_bad_and_late_messages_are_counted_by_reason():
    town = Town()
    _, session = town.ready()
    town.hear(session, b"\xff", b"\x02" + bytes(24))
    assert counted(town)["bad_message"] == 1
    assert all(each["sentence"].endswith(".") for each in town.app.refused_clients())


def test_wrong_keys_are_logged_ever_more_rarely():
    town = Town()
    for number in range(20):
        town.connect(bytes(16), number + 1)
    assert counted(town) == {"wrong_key": 20}
    assert len([line for line in town.host.logged if line[0] == "wrong login key"]) == 5
