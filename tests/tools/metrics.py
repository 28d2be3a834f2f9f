"""`make metrics`: writes docs/metrics.md, with every name that an app logs or counts; `tests/docs` compares it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

from terrazzo.base.limits import ClientRefusal
from terrazzo.managers.baseapp_mgr import Why
from terrazzo.runtime.gate import Cut
from terrazzo.sync.view_events import Fault
from terrazzo.wire.client.limits import Drop
from terrazzo.wire.log_events import Count, EventName, LogEvent
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.messages import Refusal
from terrazzo.wire.requests import Failure

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "terrazzo"
PAGE = ROOT / "docs" / "metrics.md"

APPS = {
    "base": "BaseApp", "cell": "CellApp", "client": "client", "cluster": "all", "console": "console", "db": "DBApp",
    "login": "LoginApp", "managers": "managers", "runtime": "all", "sync": "BaseApp, CellApp, client",
    "wire": "BaseApp, CellApp",
}  # fmt: skip
"""The apps that run the code of a package."""
REASONS = {
    Drop: "packets and sessions (BaseApp, LoginApp)",
    Cut: "connections (BaseApp, LoginApp, console)",
    ClientRefusal: "messages of players (BaseApp)",
    LoginRefusal: "logins (LoginApp, DBApp), as the player reads them",
    Why: "places for proxies (BaseAppMgr)",
    Refusal: "messages of peers (all)",
    Failure: "requests without an answer (all)",
    Fault: "messages of a server (clients)",
}
"""The enums of reasons, and what is refused for them."""

HEAD = """\
# What is logged and counted

`make metrics` writes this page from `LogEvent`, `Count` (`wire/log_events.py`) and the enums of reasons; a test
compares them.

An app's log has one line for each event, with its facts. Each app's view has its counters: see `counted` in the
console's `/api/snapshot`; `terrazzo refusals` lists refusals by reason. Of what clients can cause at will, only the
1st, 2nd, 4th, 8th … is logged.
"""


def names_in(tree: ast.AST) -> Iterator[tuple[EventName, bool]]:
    """The members that a module names, and whether as an argument of `log`."""
    logged = {
        id(node)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and (isinstance(call.func, ast.Attribute | ast.Name))
        and (call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id) in ("log", "_log")
        for node in ast.walk(call)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            enum = {"LogEvent": LogEvent, "Count": Count}.get(node.value.id)
            if enum is not None:
                yield enum[node.attr], id(node) in logged


def uses() -> dict[EventName, tuple[set[str], bool]]:
    """For each event: the apps that have it, and whether one counts it."""
    found: dict[EventName, tuple[set[str], bool]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0]
        if package in APPS:
            for event, is_log in names_in(ast.parse(path.read_text())):
                apps, is_counted = found.get(event, (set(), False))
                # What a CellApp reports goes through `Core.count`.
                is_counted |= not is_log and package in ("base", "cell", "cluster", "sync", "wire")
                found[event] = apps | set(APPS[package].split(", ")), is_counted
    return found


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def where(apps: set[str]) -> str:
    """The apps of an event."""
    return "all" if "all" in apps else ", ".join(sorted(apps, key=str.lower))


def page() -> str:
    """The page as it should be."""
    found = uses()
    events = sorted(LogEvent, key=lambda each: each.value.lower())
    parts = [HEAD, "## Events in logs\n\nWith ✓: also counted.\n"]
    parts.append(
        table(
            ("event", "app", "counted", "what happened"),
            ((f"`{e.value}`", where(found[e][0]), "✓" if found[e][1] else "", e.sentence) for e in events),
        )
    )
    parts.append("## Counters without a line in a log\n")
    rows = ((f"`{c.value}`", where(found[c][0]), c.sentence) for c in Count)
    parts.append(table(("counter", "app", "what is counted"), rows))
    for enum, what in REASONS.items():
        parts.append(f"## Reasons: {what}\n")
        parts.append(table(("reason", "what happened"), (row(each) for each in enum)))
    return "\n".join(parts)


def row(reason: Enum) -> tuple[str, str]:
    """The row of a reason."""
    return f"`{reason.value}`", getattr(reason, "sentence")  # noqa: B009  # the enums of reasons have it


if __name__ == "__main__":
    PAGE.write_text(page())
