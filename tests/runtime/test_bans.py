"""Bans in the data folder: made by commands, read again by running apps, ended by time."""

from __future__ import annotations

import pytest

from terrazzo.errors import UsageError
from terrazzo.runtime.bans import BanFile, BanWatch


def test_ban_is_kept_until_its_end(tmp_path):
    file = BanFile(tmp_path)
    file.ban("192.0.2.7", now=100.0, for_s=60.0, why="guesses")
    file.ban("2001:db8::1", now=100.0, for_s=None)
    again = BanFile(tmp_path)
    assert [(each.network, each.until, each.why) for each in again.read(159.0)] == [
        ("192.0.2.7/32", 160.0, "guesses"),
        ("2001:db8::/64", None, ""),
    ]
    assert [each.network for each in again.read(160.0)] == ["2001:db8::/64"]
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_second_ban_of_a_network_replaces_the_first(tmp_path):
    file = BanFile(tmp_path)
    file.ban("192.0.2.7", now=100.0, for_s=None)
    file.ban("192.0.2.7", now=100.0, for_s=5.0)
    assert [each.until for each in file.read(100.0)] == [105.0]


def test_ban_is_taken_back_and_what_is_not_banned_is_an_error(tmp_path):
    file = BanFile(tmp_path)
    file.ban("192.0.2.0/24", now=100.0, for_s=None)
    with pytest.raises(UsageError, match=r"192\.0\.2\.7/32 is not banned; it is within 192\.0\.2\.0/24, which is"):
        file.unban("192.0.2.7", now=100.0)
    assert file.unban("192.0.2.9/24", now=100.0) == "192.0.2.0/24"
    assert file.read(100.0) == []
    with pytest.raises(UsageError, match="expected an address or a network"):
        file.ban("here", now=100.0, for_s=None)


def test_watch_follows_the_file_once_a_second_and_ends_bans_by_itself(tmp_path):
    file = BanFile(tmp_path)
    reports: list[str] = []
    watch = BanWatch(file, reports.append)
    assert not watch.look(100.0)
    file.ban("192.0.2.7", now=100.0, for_s=10.0)
    assert not watch.look(100.5)
    assert watch.look(101.0)
    assert watch.banned.has("192.0.2.7")
    assert not watch.look(105.0)
    assert watch.look(110.0)
    assert not watch.banned.has("192.0.2.7")
    assert reports == []


def test_file_that_cannot_be_read_leaves_the_bans_and_is_reported_once(tmp_path):
    file = BanFile(tmp_path)
    reports: list[str] = []
    watch = BanWatch(file, reports.append)
    file.ban("192.0.2.7", now=100.0, for_s=None)
    assert watch.look(100.0)
    file.path.write_text('{"bans": [{"network": "nowhere"}]}')
    assert not watch.look(101.0)
    assert not watch.look(102.0)
    assert watch.banned.has("192.0.2.7")
    [report] = reports
    assert "does not hold bans" in report
