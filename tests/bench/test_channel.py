"""The benchmark of the channel: what is carried is counted right, and a short run has all its figures."""

import pytest

from terrazzo.bench import channel
from terrazzo.bench.channel_load import PING, SIZE, THE_LAST, Tally, batches, expected, make, play_round
from terrazzo.errors import UsageError
from terrazzo.runtime.loop import run

FIGURES = {"client_messages_per_s", "aioquic_ratio", "pyenet_ratio", "link_pyenet_ratio", "rtt_p99_us"}


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 1000])
def test_every_message_is_counted_and_summed_once(count):
    sent = [message for batch in batches(count, 16) for message in batch]
    assert len(sent) == count
    assert sent[-1] == THE_LAST
    assert {len(message) for message in sent} == {SIZE}
    tally = Tally()
    answers = [answer for message in sent for answer in tally.take([message])]
    assert answers == [expected(count, 16)]
    assert tally.take(sent) == answers, "the tally begins anew after the last message"


def test_a_ping_comes_back_as_it_is():
    assert Tally().take([make(PING, 7)]) == [make(PING, 7)]


class Leaky:
    """Loses one message."""

    batch = 16

    async def serve(self, on_ready): ...

    async def connect(self, place):
        self.closed = False

    async def close(self):
        self.closed = True

    async def flood(self, count):
        sent = [message for batch in batches(count, 16) for message in batch]
        return Tally().take(sent[1:])[0]

    async def round_trips(self, count):
        return [0.001] * count


def test_a_contender_that_loses_something_is_found_out():
    leaky = Leaky()
    with pytest.raises(AssertionError, match="lost or changed"):
        run(play_round(leaky, "", messages=100, seconds=0.0, pings=1))
    assert leaky.closed


def test_a_short_run_has_its_figures():
    result = channel.measure(rounds=1, messages=3000, pings=20)
    assert set(result["figures"]) == FIGURES
    assert {"client", "link"} <= set(result["messages_per_s"])
    for name, rate in result["messages_per_s"].items():
        assert result["messages"][name] == 3000, name
        assert rate > 0
        assert 0 < result["rtt_p50_us"][name] <= result["rtt_p99_us"][name]
    for name, figure in result["figures"].items():
        rival = next((rival for rival in channel.RIVALS if rival in name), "none")
        assert (figure is None) == (rival in result["not_installed"]), name


def test_rival_that_is_not_installed_is_left_out_and_named(monkeypatch):
    monkeypatch.setattr(channel, "find_spec", lambda name: None)
    result = channel.measure(rounds=1, messages=500, pings=5)
    assert result["not_installed"] == ["websockets", "aioquic", "pyenet"]
    assert result["figures"]["client_messages_per_s"] > 0
    assert result["figures"]["pyenet_ratio"] is None


def test_only_those_that_are_asked_for():
    result = channel.measure(rounds=2, messages=500, pings=5, only=["client"])
    assert result["messages"] == {"client": 1000}
    assert result["figures"]["link_pyenet_ratio"] is None
    with pytest.raises(UsageError, match="postman: no such contender; there are client, link"):
        channel.measure(only=["postman"])


def test_failing_side_of_the_benchmark_raises(capfd):
    with pytest.raises(RuntimeError, match="a side of nobody has ended"), channel._Pair("nobody"):
        pass
    assert "KeyError" in capfd.readouterr().err
