"""A plaza of real processes at free ports, as browsers need it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("console_port", "login_udp_port", "login_ws_port", "base_udp_port", "base_ws_port")


class Restarted:
    """A small plaza at ports of its own that can be started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options or ("--cells", "1")
        self._process: subprocess.Popen[str] | None = None
        taken = [socket.socket() for _ in NAMES]
        for each in taken:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in taken]
        for each in taken:
            each.close()
        lines = [f"{name} = {port}" for name, port in zip(NAMES, ports, strict=True)]
        (folder / "settings.toml").write_text("[listen]\n" + "\n".join(lines) + "\n")
        self.address = f"http://127.0.0.1:{ports[0]}/"

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start(self, data: str = "data") -> None:
        command = [sys.executable, "-c", "from terrazzo.cli.main import main; main()", "run", "examples/plaza",
                   *self._options, "--data", str(self._folder / data),
                   "--config", str(self._folder / "settings.toml")]  # fmt: skip
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )  # fmt: skip
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if "The world is ready" in line:
                return
        pytest.fail("".join(said))

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            rest, _ = self._process.communicate(timeout=60)
            code, self._process = self._process.returncode, None
            assert code == 0, rest
