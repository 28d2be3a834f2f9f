"""Worlds that run here are found without being named; a data folder belongs to one game."""

import os

import pytest

from terrazzo.errors import UsageError
from terrazzo.runtime.datafolder import DataFolder, default_folder
from terrazzo.runtime.orders import ClusterFile
from terrazzo.runtime.running import find_world, noted, running


@pytest.fixture(autouse=True)
def notes(tmp_path, monkeypatch):
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder / f"terrazzo-{os.getuid()}"


def world(root, game):
    folder = DataFolder(root)
    folder.prepare()
    folder.write_cluster(ClusterFile(str(game), os.getpid(), "", "", "", True, []))
    return folder


def test_only_world_is_found_without_a_name(tmp_path):
    folder = world(tmp_path / "here", tmp_path / "garden")
    with noted(folder):
        assert find_world(None).root == folder.root
        assert find_world(None, tmp_path / "garden").root == folder.root
    with pytest.raises(UsageError, match="no world runs here"):
        find_world(None)
    folder.release()


def test_world_of_another_game_is_not_taken(tmp_path):
    (tmp_path / "plaza").mkdir()
    with noted(world(tmp_path / "here", tmp_path / "garden")):
        assert find_world(None, tmp_path / "plaza").root == tmp_path / "plaza-data"


def test_misspelt_game_is_named_and_not_a_data_folder(tmp_path):
    with pytest.raises(UsageError, match=r"no game at .*plazza"):
        find_world(None, tmp_path / "plazza")


def test_two_worlds_need_a_name(tmp_path):
    first, second = world(tmp_path / "one", tmp_path / "a"), world(tmp_path / "two", tmp_path / "b")
    with noted(first), noted(second):
        with pytest.raises(UsageError, match="2 worlds run here: choose one with --data") as problem:
            find_world(None)
        assert str(first.root) in str(problem.value)
        assert find_world(second.root).root == second.root
        assert find_world(None, tmp_path / "b").root == second.root


def test_note_of_a_killed_launcher_is_taken_away(tmp_path, notes):
    folder = world(tmp_path / "here", tmp_path / "garden")
    with noted(folder):
        left_behind = folder.cluster_file.read_bytes()
        folder.release()  # as the end of a process does, however it ends
        folder.cluster_file.write_bytes(left_behind)
        assert len(list(notes.iterdir())) == 1
        assert running() == []
        assert list(notes.iterdir()) == []


def test_notes_in_a_folder_that_others_can_write_are_ignored(tmp_path, notes):
    with noted(world(tmp_path / "here", tmp_path / "garden")):
        assert len(running()) == 1
        notes.chmod(0o777)
        assert running() == []


def test_data_is_beside_the_game(tmp_path):
    assert default_folder(tmp_path / "garden") == tmp_path / "garden-data"
    assert default_folder(tmp_path / "garden.py") == tmp_path / "garden-data"


def test_data_folder_refuses_another_game_and_names_the_remedy(tmp_path):
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    folder.belong_to(tmp_path / "plaza")
    folder.belong_to(tmp_path / "moved" / "plaza")
    with pytest.raises(
        UsageError, match="holds the world of the game plaza, not of garden: give another one with --data"
    ):
        folder.belong_to(tmp_path / "garden")
    (folder.root / "game").write_text("garden\n")
    folder.belong_to(tmp_path / "garden")
    folder.release()
