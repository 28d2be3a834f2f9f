"""How fast the browser client decodes, and how much garbage it makes: `python -m tests.tools.web_speed [FOLDER …]`.

Node runs the modules of each folder (without one, `clients/web` of this clone) over the same messages: a player with 62
neighbours, as `terrazzo bench cell` has them, that move and change. Prints nanoseconds and bytes of garbage for each
entry: a place in a PLACES message, or a change of a property. Give the folder of another clone to compare the two.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from terrazzo.schema.export import export_schema
from terrazzo.sync import protocol
from tests.client.town import AVATAR, SCHEMA, Item, base_row, cell_row, describe
from tests.client.view_scene import ME, OWN, change_message, loose, server_state

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "clients" / "web"
NEIGHBOURS = 62
PLACES = 36
"""In each message: about 205 bytes, as a CellApp sends them a tick."""
MESSAGES = 40
YOUNG = [f"--{bound}-semi-space-size=256" for bound in ("min", "max")]
NODE = ["node", "--expose-gc", *YOUNG]
ALL = ["onMoved", "onChange"]


def bag() -> list[Item]:
    return [Item(kind=kind, count=kind + 1) for kind in range(8)]


def story() -> list[bytes]:
    """The player with a body, and its neighbours."""
    begun = [
        protocol.encode_base_player(ME, AVATAR, base_row()),
        protocol.encode_cell_player(AVATAR, 1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), cell_row(name="Ann", bag=bag())),
    ]
    for alias in range(1, NEIGHBOURS + 1):
        begun.append(protocol.encode_announce(100 + alias, alias, AVATAR))
        begun.append(describe(AVATAR, alias, (float(alias), 0.0, 1.0), name=f"walker {alias}"))
    return begun


def places(form: int, seed: int) -> list[bytes]:
    """Messages with places of one form; `sync.places` has the forms. Every bit of a packed place means something."""
    rng = random.Random(seed)
    size = {0: 3, 1: 5, 2: 12}[form >> 2] + (form & 3) * (4 if form >> 2 == 2 else 1)
    found = []
    for _ in range(MESSAGES):
        entries = bytearray()
        for alias in rng.sample(range(1, NEIGHBOURS + 1), PLACES):
            packed = rng.randbytes(size) if form < 8 else b"\0\0\x80\x3f" * (size // 4)
            entries += protocol.encode_alias(alias) + packed
        head = bytes([protocol.ToClient.PLACES, 0]) + bytes(6) + b"\0\0\x80\x3f"
        found.append(head + bytes([form, PLACES]) + entries)
    return found


def whole_changes() -> list[bytes]:
    """A short property of each neighbour."""
    return [
        change_message(
            alias, AVATAR, server_state(AVATAR), lambda state, value=alias: state.__setitem__("health", value)
        )
        for alias in range(1, NEIGHBOURS + 1)
    ]


def nested_changes() -> list[bytes]:
    """A number inside the player's bag."""

    def edit(state: Any, place: int) -> None:
        state["bag"][place].count = 500 + place

    return [
        change_message(OWN, AVATAR, server_state(AVATAR, bag=bag()), lambda state, place=place: edit(state, place))
        for place in range(8)
    ]


def cases() -> list[tuple[str, list[bytes], int, list[str]]]:
    """Name, messages, how many entries they have, and the events that the page asks for."""
    ground, air, full = (places(form, seed) for seed, form in enumerate((1, 5, 9)))
    whole, nested = whole_changes(), nested_changes()
    return [
        ("places on the ground", ground, MESSAGES * PLACES, []),
        ("places on the ground, onMoved", ground, MESSAGES * PLACES, ALL),
        ("places in the air", air, MESSAGES * PLACES, []),
        ("places in full", full, MESSAGES * PLACES, []),
        ("changes of a property", whole, len(whole), []),
        ("changes of a property, onChange", whole, len(whole), ALL),
        ("loose changes", [loose(each) for each in whole], len(whole), []),
        ("changes inside a bag", nested, len(nested), []),
        ("changes inside a bag, onChange", nested, len(nested), ALL),
    ]


def order(**amounts: int) -> dict[str, Any]:
    """What Node does."""
    return {
        "schema": export_schema(SCHEMA),
        "story": [each.hex() for each in story()],
        "cases": [
            {"name": name, "messages": [each.hex() for each in messages], "entries": entries, "asked": asked}
            for name, messages, entries, asked in cases()
        ],
        **amounts,
    }


def measure(
    folder: Path, *flags: str, rounds: int = 15, warm: int = 5, entries: int = 40_000
) -> dict[str, dict[str, float]]:
    """The figures of the client in this folder, by case. With the flag --no-opt Node compiles nothing while it runs:
    every number that the code works out has its bytes then, and the bytes are the same in each run."""
    given = order(rounds=rounds, warm=warm, entries=entries)
    done = subprocess.run(
        [*NODE, *flags, str(HERE / "web_speed.mjs"), str(folder)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def main() -> None:
    folders = [Path(each).resolve() for each in sys.argv[1:]] or [CLIENT]
    print(json.dumps({str(folder): measure(folder) for folder in folders}, indent=1))


if __name__ == "__main__":
    main()
