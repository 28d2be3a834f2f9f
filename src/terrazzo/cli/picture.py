"""The console's picture of a running cluster (`/api/snapshot`), for commands that show a part of it."""

from __future__ import annotations

from http.client import HTTPException
from typing import TypeVar
from urllib.request import Request, urlopen

import msgspec

from terrazzo.errors import UsageError
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.orders import CONSOLE

ANSWER_S = 5.0

P = TypeVar("P", bound=msgspec.Struct)


def fetch_picture(data: DataFolder, shape: type[P]) -> P:
    """What the console of the cluster that runs with this folder shows, read into `shape`."""
    cluster = data.read_cluster()
    page = next((app.text for app in cluster.apps if app.name.startswith(f"{CONSOLE}-") and app.text), None)
    if page is None:
        raise UsageError("the cluster has no console that could be asked: run it with --console, or wait for it")
    try:
        token = data.console_token() if data.token_file.exists() else ""
        request = Request(f"{page}api/snapshot", headers={"Authorization": f"Bearer {token}"})
        with urlopen(request, timeout=ANSWER_S) as answer:
            return msgspec.json.decode(answer.read(), type=shape)
    except (OSError, HTTPException, msgspec.DecodeError, ValueError) as problem:
        raise UsageError(f"the console at {page} does not answer as it should: {problem}") from None
