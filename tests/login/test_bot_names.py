"""Names that are reserved for bots: a player cannot take one, the bots of the cluster can."""

from terrazzo.login.limits import LoginLimits
from terrazzo.login.loginapp import LoginApp
from terrazzo.wire.login_refusals import LoginRefusal
from tests.login.test_loginapp import DATABASE, DIGEST, ME, Door

PASSWORD = "secret of the cluster"


def door_for(bots_password=""):
    """One attempt from each address, and then a long pause."""
    door = Door()
    limits = LoginLimits(attempts_burst=1, attempts_per_s=0.001)
    door.app = LoginApp(
        ME, door.host, endpoint=door.inbox, digest=DIGEST, bots_password=bots_password, limits=limits
    )  # fmt: skip
    door.app.on_link_up(DATABASE)
    return door


def test_reserved_name_is_refused_to_a_player():
    door = door_for(PASSWORD)
    player = door.knock("Bot-1", "my own")
    assert door.tick() == []
    assert player.error == "Names that begin with bot- are for bots; choose another name."


def test_reserved_name_is_refused_where_there_are_no_bots():
    door = door_for()
    player = door.knock("bot-1", "x")
    assert door.tick() == []
    assert player.error == LoginRefusal.RESERVED.sentence


def test_refused_reserved_names_are_logged_ever_more_rarely():
    door = door_for(PASSWORD)
    player = door.knock("bot-0", "guessed")
    for number in range(10):
        door.knock(f"bot-{number}", "guessed")
    door.tick()
    refused = [facts for event, facts in door.host.logged if event == "login refused"]
    assert [each["count"] for each in refused if each["code"] == "rate"] == [1, 2, 4, 8]
    assert player.code == "reserved"


def test_bots_are_not_counted_by_their_address():
    door = door_for(PASSWORD)
    for number in range(5):
        door.knock(f"bot-{number}", PASSWORD)
    first, second = door.knock("ann"), door.knock("ben")
    assert [asked.name for _, asked in door.tick()] == [*(f"bot-{number}" for number in range(5)), "ann"]
    assert first.sent == []
    assert second.error == LoginRefusal.RATE.sentence
