"""Runs scripts in Node, to test the browser client where no browser is."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import pytest

from terrazzo.schema.export import export_schema
from terrazzo.schema.model import Schema

SCRIPTS = Path(__file__).parent
OLDEST = 20


@cache
def why_not() -> str:
    """Why there is no Node to test with; empty when there is."""
    node = shutil.which("node")
    if node is None:
        return "Node is not installed: the browser client is not tested"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").partition(".")[0]) < OLDEST:
        return f"Node {version} is too old for WebCrypto with X25519: the browser client needs {OLDEST} or newer"
    return ""


needs_node = pytest.mark.skipif(bool(why_not()), reason=why_not() or "Node is there")


def start(script: str, complaints: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """A script of this folder, to be spoken with over its pipes; what it complains about goes to a file, or to ours."""
    command = ["node", str(SCRIPTS / script)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, bufsize=0)


def _number(digits: str) -> int | float:
    """JavaScript writes large floats as it writes integers; there are none so large that are."""
    return int(digits) if abs(int(digits)) < 1 << 53 else float(digits)


class Asked:
    """A script that answers one line of JSON with one line of JSON."""

    def __init__(self, script: str) -> None:
        self._process = start(script)
        assert self._process.stdout is not None
        self._lines = open(self._process.stdout.fileno(), "rb", closefd=False)  # noqa: SIM115

    def ask(self, **question: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        answer = self._lines.readline()
        assert answer, "the script has ended"
        return json.loads(answer, parse_int=_number)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.wait(10) == 0
        self._lines.close()
        self._process.stdout.close()


@contextmanager
def codec_of(schema: Schema) -> Iterator[Asked]:
    """The browser client's codec and view, for the entities of this schema."""
    asked = Asked("codec.mjs")
    asked.ask(op="schema", exported=export_schema(schema))
    yield asked
    asked.close()
