"""What a cluster writes is for its owner only, also where an older version left it open."""

from pathlib import Path

import pytest

from terrazzo.runtime.datafolder import DataFolder
from tests.runtime.worlds import World


def modes(root):
    return {str(path.relative_to(root)): path.stat().st_mode & 0o777 for path in [root, *root.rglob("*")]}


@pytest.mark.parametrize("extra", [(), ("--single",)], ids=["processes", "single"])
def test_everything_that_a_cluster_writes_is_closed_to_others(tmp_path, extra):
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)  # whatever the umask is here
    for name in ("world.sqlite", "notes.txt"):
        (data / name).touch()
        (data / name).chmod(0o644)
    with World(data, "--cells", 1, "--no-console", *extra) as world:
        world.wait_ready()
        found = modes(data)
        assert world.terminate() == 0
        assert any("Others could read in" in line and "world.sqlite" in line for line in world.errors)
    assert found.pop("notes.txt") == 0o644, "what is not the cluster's is left alone"
    assert {name for name, mode in found.items() if mode & 0o077} == set()
    assert {"world.sqlite", "logs/db_app-0.log", "run/cluster.json", "cluster.key"} <= set(found)


def test_tightening_returns_what_it_changed_and_follows_no_links(tmp_path):
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    elsewhere.chmod(0o644)
    (folder.root / "world.sqlite").symlink_to(elsewhere)
    folder.logs.chmod(0o755)
    assert folder.tighten().startswith(f"Others could read in {folder.root}: logs.")
    assert folder.tighten() == ""
    assert elsewhere.stat().st_mode & 0o777 == 0o644
    folder.release()


def test_folder_that_cannot_be_closed_is_reported_and_the_start_goes_on(tmp_path, monkeypatch):
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    folder.logs.chmod(0o755)

    def not_ours(path, mode):
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "chmod", not_ours)
    assert "logs, and it cannot be closed to them: Operation not permitted" in folder.tighten()
    folder.release()
