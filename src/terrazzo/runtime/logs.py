"""Logs: the standard library's logging, one line for each event; a fact of several lines is printed below the line.

    2026-11-15T20:03:11.123 cell_app-2 spaces ready spaces="['plaza']" cells=4
    2026-11-15T20:03:12.456 cell_app-2 game error what="Avatar 7 in plaza, hit" error="KeyError: 3"
      trace:
        Traceback (most recent call last):
          …
    {"time":"2026-11-15T20:03:11.123","app":"cell_app-2","event":"spaces ready","facts":{"spaces":["plaza"],"cells":4}}

Each app has a file of its own, which is rotated, so that its size is bounded. Apps use no levels: an event with a fact
`error` is an error, and errors also go to the launcher's stderr.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from textwrap import indent
from typing import Any

from terrazzo.wire.log_events import EventName

FILE_BYTES_MAX = 32 << 20
FILES_KEPT = 2


def plain(value: object) -> Any:
    """A fact as JSON can hold it: of an object that is not plain data, its text."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) in (list, tuple):
        return [plain(each) for each in value]  # type: ignore[attr-defined]  # it is a list or a tuple
    if type(value) is dict:
        return {str(key): plain(each) for key, each in value.items()}
    return str(value)


def _printable(text: str) -> str:
    """The text without characters, other than line breaks, that move the cursor of a terminal."""
    return "\n".join(
        line if line.isprintable() else json.dumps(line, ensure_ascii=False)[1:-1] for line in text.split("\n")
    )


def _word(text: str) -> str:
    is_plain = text and text.isprintable() and not any(each in text for each in ' "=')
    return text if is_plain else json.dumps(text, ensure_ascii=False)


class LineFormatter(logging.Formatter):
    """One line for people; a fact of several lines, as a traceback, is printed below it."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {key: str(value) for key, value in getattr(record, "facts", {}).items()}
        words = "".join(f" {key}={_word(text)}" for key, text in facts.items() if "\n" not in text)
        below = "".join(
            f"\n  {key}:\n{indent(_printable(text.strip()), ' ' * 4)}" for key, text in facts.items() if "\n" in text
        )
        return f"{_time(record)} {record.name.removeprefix('terrazzo.')} {record.getMessage()}{words}{below}"


class JsonFormatter(logging.Formatter):
    """One JSON object on a line, for programs."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "app": record.name.removeprefix("terrazzo."),
            "event": record.getMessage(),
            "facts": plain(getattr(record, "facts", {})),
        }
        return json.dumps(line, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created).isoformat(timespec="milliseconds")


class LogFile(RotatingFileHandler):
    """A log file that is rotated when it is full. The base class formats each record twice and looks the file up twice
    to keep the last line below the limit, too, which costs more than writing it."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        """See RotatingFileHandler."""
        return self.stream is not None and os.fstat(self.stream.fileno()).st_size >= self.maxBytes


class AppLog:
    """The log of one app: `log(LogEvent.STARTED, fact=value)`."""

    def __init__(self, name: str, folder: Path, *, as_json: bool = False) -> None:
        self.path = folder / f"{name}.log"
        self._logger = logging.getLogger(f"terrazzo.{name}")
        self._logger.setLevel(logging.INFO)
        self._logger.propagate = False
        formatter = JsonFormatter() if as_json else LineFormatter()
        file = LogFile(
            self.path, maxBytes=FILE_BYTES_MAX, backupCount=FILES_KEPT, encoding="utf-8", errors="backslashreplace"
        )
        errors = logging.StreamHandler(sys.stderr)
        errors.setLevel(logging.ERROR)
        for handler in (file, errors):
            handler.setFormatter(formatter)
            self._logger.addHandler(handler)

    def __call__(self, event: EventName, /, **facts: object) -> None:
        level = logging.ERROR if "error" in facts else logging.INFO
        self._logger.log(level, "%s", event, extra={"facts": facts})

    def close(self) -> None:
        """Closes the file."""
        for handler in list(self._logger.handlers):
            self._logger.removeHandler(handler)
            handler.close()


def last_lines(path: Path, count: int = 8, bytes_max: int = 8192) -> list[str]:
    """The end of a log; nothing if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            size = file.tell()
            file.seek(max(size - bytes_max, 0))
            data = file.read()
    except OSError:
        return []
    return data.decode(errors="replace").splitlines()[-count:]
