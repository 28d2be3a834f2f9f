"""docs/players.md has a row for each reason and each answer, and for nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from terrazzo.base import ClientLoss, LogOnAnswer

TEXT = (Path(__file__).parent.parent.parent / "docs" / "players.md").read_text()


def test_page_has_a_row_for_each_reason_and_answer():
    rows = re.findall(r"^\| `([A-Z_]+)`", TEXT, re.MULTILINE)
    assert rows == [*ClientLoss.__members__, *LogOnAnswer.__members__]
