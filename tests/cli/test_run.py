"""The commands that start things: each mistake is one sentence with advice, and a non-zero exit."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from terrazzo.cli.run import bots, run
from terrazzo.runtime.config import DEFAULT_TOML

PLAZA = str(Path(__file__).parents[2] / "examples" / "plaza")


def told(command, *args):
    """The exit code, and the output."""
    done = CliRunner().invoke(command, list(map(str, args)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_a_game_that_is_not_there(tmp_path):
    code, words = told(run, tmp_path / "nowhere", "--data", tmp_path / "data")
    assert code == 1
    assert "nowhere" in words
    assert "Traceback" not in words
    assert not (tmp_path / "data").exists()


def test_a_setting_that_does_not_exist(tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text("[apps]\ncelts = 3\n")
    code, words = told(run, PLAZA, "--config", settings)
    assert (code, words) == (
        1, f"Error: {settings} has an unknown key apps.celts; known are apps.cells, apps.bases, apps.bots\n",
    )  # fmt: skip


@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
def test_a_port_in_use(tmp_path, protocol):
    kind = socket.SOCK_DGRAM if protocol == "UDP" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        if protocol == "TCP":
            taken.listen()
        port = taken.getsockname()[1]
        settings = tmp_path / "settings.toml"
        settings.write_text(f"[listen]\nlogin_{'udp' if protocol == 'UDP' else 'ws'}_port = {port}\n")
        code, words = told(run, PLAZA, "--single", "--data", tmp_path / "data", "--config", settings)
    assert code == 1
    assert words.splitlines()[-1] == (
        f"login_app-0: {protocol} port {port} of 127.0.0.1 is in use by another program: "
        "choose another one, or 0 for the usual"
    )


def test_a_data_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    code, words = told(run, PLAZA, "--data", tmp_path / "file" / "data")
    assert (code, words) == (1, f"Error: cannot use the data folder {tmp_path / 'file' / 'data'}: Not a directory\n")


def test_the_settings_are_printed_as_a_file():
    assert told(run, "--print-config") == (0, DEFAULT_TOML)


def test_bots_need_a_world(tmp_path):
    assert told(bots, PLAZA, "--data", tmp_path) == (
        1, f"Error: no cluster is running with the data folder {tmp_path}: start one, or name its folder with --data\n",
    )  # fmt: skip
    code, words = told(bots, PLAZA, "--address", "127.0.0.1:9")
    assert (code, words.count("\n")) == (1, 1)
    assert "--address HOST:PORT and --key" in words


def test_bots_go_to_the_world_that_runs_here(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    code, words = told(bots, PLAZA)
    assert (code, f"data folder {PLAZA}-data:" in words) == (1, True)


@pytest.mark.parametrize(
    ("address", "key", "words"),
    [("127.0.0.1", "00" * 32, "127.0.0.1 is no address"), ("127.0.0.1:9", "beef", "64 hexadecimal digits")],
)
def test_bots_need_an_address_and_a_key(address, key, words):
    code, said = told(bots, PLAZA, "--address", address, "--key", key)
    assert code == 1
    assert words in said
