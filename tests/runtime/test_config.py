"""The settings file: typed, complete, and strict about unknown settings."""

import tomllib

import msgspec
import pytest

from terrazzo.errors import UsageError
from terrazzo.runtime.config import DEFAULT_TOML, Config, Listen, parse_config, read_config


def test_printed_file_has_the_defaults():
    assert parse_config(DEFAULT_TOML, "default") == Config() == read_config(None)
    assert tomllib.loads(DEFAULT_TOML) == msgspec.to_builtins(Config()), "every setting is in the printed file"


def test_a_file_changes_what_it_names(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("tick_hz = 20\n[apps]\ncells = 2\n[listen]\nlogin_udp_port = 4000\n")
    config = read_config(path)
    assert (config.tick_s, config.apps.cells, config.apps.bases) == (0.05, 2, 1)
    assert config.listen == Listen(login_udp_port=4000)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "ticks = 3",
            "settings.toml has an unknown key ticks; known are tick_hz, turn_ms, apps, listen, console, data,",
        ),
        ("[listen]\nport = 3", "settings.toml has an unknown key listen.port; known are listen.host,"),
        ("[apps]\ncells = 'four'", "settings.toml: Expected `int`, got `str` - at `apps.cells`"),
        ("[apps]\ncells = 0", "settings.toml: Expected `int` >= 1 - at `apps.cells`"),
        ("[listen]\nbase_ws_port = 70000", "settings.toml: Expected `int` <= 65535 - at `listen.base_ws_port`"),
        ("apps = 3", "settings.toml: Expected `object`, got `int` - at `apps`"),
        ("[apps", "settings.toml is not TOML: "),
    ],
)
def test_mistake_in_the_settings_is_one_sentence(text, words):
    with pytest.raises(UsageError) as caught:
        parse_config(text, "settings.toml")
    assert str(caught.value).startswith(words)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read the settings in .*missing.toml: No such file"):
        read_config(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe4")
    with pytest.raises(UsageError, match="it is not UTF-8"):
        read_config(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("listen", "told", "near"),
    [
        (Listen(), "127.0.0.1", "127.0.0.1"),
        (Listen(host="0.0.0.0"), "", "127.0.0.1"),
        (Listen(host="::"), "", "::1"),
        (Listen(host="0.0.0.0", public_host="play.example"), "play.example", "127.0.0.1"),
    ],
)
def test_address_for_clients_reaches_the_cluster(listen, told, near):
    assert (listen.announced_host, listen.near_host) == (told, near)
