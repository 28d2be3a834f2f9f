"""`make hints`: finds, for each mutation with a stale hint, a world that shows it (`tests/sim/mutation_table.py`)."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys

from tests.sim.mutation_table import HINTS, ROWS, SEEDS_MAX, SHORT_S, hints, is_caught

Hint = tuple[int, float | None]


def find(name: str) -> tuple[str, Hint | None]:
    """A hint that holds: the present one, else the first of short worlds, then of whole ones."""
    known = hints().get(name) if HINTS.exists() else None
    tried: list[Hint] = [known] if known is not None else []
    tried += [(seed, SHORT_S) for seed in range(30)]
    tried += [(seed, None) for seed in range(SEEDS_MAX)]
    return name, next((each for each in tried if is_caught(name, *each)), None)


def write(found: dict[str, Hint]) -> None:
    """One line for each mutation, so that a change of a hint is a change of a line."""
    lines = ",\n".join(f' "{name}": {json.dumps(found[name])}' for name in sorted(found))
    fresh = HINTS.with_suffix(".new")
    fresh.write_text(f"{{\n{lines}\n}}\n")
    fresh.replace(HINTS)  # other processes read it meanwhile


def main() -> int:
    """Writes all hints; names what was not caught."""
    found: dict[str, Hint] = {name: hint for name, hint in hints().items() if name in ROWS} if HINTS.exists() else {}
    missing = []
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for name, hint in pool.imap_unordered(find, ROWS):
            if hint is None:
                missing.append(name)
                found.pop(name, None)
            else:
                found[name] = hint
                write(found)
            print(f"{name} {hint}", file=sys.stderr, flush=True)
    for name in missing:
        print(f"not caught within {SEEDS_MAX} seeds: {name}")
    print(f"{len(found)} mutations have a hint")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
