"""`terrazzo account` asks the console of a cluster that runs."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.orders import ClusterFile, RunningApp

LINES = [
    {"type": "Avatar", "what": "(places)", "to": "other clients", "messages": 3000, "bytes": 7500},
    {"type": "Avatar", "what": "wave()", "to": "own client", "messages": 5, "bytes": 2500},
]


@contextmanager
def console(answer):
    """A page that answers with this picture."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/api/snapshot" else 404)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def folder(tmp_path):
    data = DataFolder(tmp_path / "data")
    data.prepare()
    yield data
    data.release()


def told(folder, page, *options):
    apps = [RunningApp("cell_app-0", 1), *([] if page is None else [RunningApp("console-0", 1, text=page)])]
    folder.write_cluster(ClusterFile("game", 1, "", "", "", True, apps))
    return CliRunner().invoke(main, ["account", "--data", str(folder.root), *options])


def test_json_is_the_account_of_the_console_with_the_sum(folder):
    with console(json.dumps({"bandwidth": LINES, "spaces": []}).encode()) as page:
        done = told(folder, page, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {"bytes": 10_000, "bandwidth": LINES}


def test_the_table_has_a_line_for_each_and_its_share(folder):
    with console(json.dumps({"bandwidth": LINES}).encode()) as page:
        done = told(folder, page)
    lines = [line.split() for line in done.output.splitlines()]
    assert lines[1] == ["Avatar", "(places)", "other", "clients", "3,000", "7,500", "75.0"]
    assert lines[2] == ["Avatar", "wave()", "own", "client", "5", "2,500", "25.0"]
    assert "10,000 bytes" in done.output


@pytest.mark.parametrize("answer", [b"", b"{}", b'{"bandwidth": [1]}'])
def test_malformed_answer_of_a_console_is_an_error(folder, answer):
    with console(answer) as page:
        done = told(folder, page)
    assert done.exit_code == 1
    assert "does not answer as it should" in done.output


def test_a_console_that_is_gone(folder):
    with console(b"") as page:
        pass
    done = told(folder, page)
    assert done.exit_code == 1
    assert "does not answer as it should" in done.output


def test_a_cluster_without_console(folder):
    done = told(folder, None)
    assert done.exit_code == 1
    assert "has no console that could be asked" in done.output


def test_account_without_a_running_cluster_is_an_error(tmp_path):
    done = CliRunner().invoke(main, ["account", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert "no cluster is running" in done.output
    assert "or name its folder with --data" in done.output
