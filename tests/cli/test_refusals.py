"""`terrazzo refusals` asks the console of a cluster that runs."""

import json

from click.testing import CliRunner

from terrazzo.cli.main import main
from terrazzo.runtime.orders import ClusterFile, RunningApp
from tests.cli.test_account import console, folder  # noqa: F401

LINES = [
    {"app": "base_app-0.1", "door": "udp", "reason": "spent", "count": 3000, "sentence": "A cookie [was] spent."},
    {"app": "console", "door": "connections", "reason": "late", "count": 2, "sentence": "Too late."},
]


def told(folder, lines, *options):  # noqa: F811
    with console(json.dumps({"refusals": lines, "spaces": []}).encode()) as page:
        folder.write_cluster(ClusterFile("game", 1, "", "", "", True, [RunningApp("console-0", 1, text=page)]))
        return CliRunner().invoke(main, ["refusals", "--data", str(folder.root), *options])


def test_json_has_every_refusal_and_their_sum(folder):  # noqa: F811
    done = told(folder, LINES, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"count": 3002, "refusals": LINES}


def test_table_has_the_sentence_of_each(folder):  # noqa: F811
    done = told(folder, LINES)
    assert done.exit_code == 0
    assert "3,000" in done.stdout
    assert "[was]" in done.stdout
    assert told(folder, []).stdout == "Nothing was refused.\n"


def test_cluster_that_does_not_run_is_one_sentence(tmp_path):
    done = CliRunner().invoke(main, ["refusals", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert "no cluster is running" in done.output
