"""Works through a fixed corpus with whichever form of the kernels is in use and prints every outcome.

The twin test runs it once compiled and once plain and compares the two line by line: values, bytes, errors, changes.
"""

import random
import sys
from collections.abc import Callable
from functools import partial

from terrazzo._speed import COMPILED
from terrazzo._speed.values import Change
from terrazzo.errors import TerrazzoError
from terrazzo.schema import types as t
from terrazzo.schema.changes import encode_external, encode_internal
from terrazzo.schema.flags import ALL_CLIENTS
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import Property
from terrazzo.schema.state import State

SCALARS = [
    t.INT8, t.INT16, t.INT32, t.INT64, t.UINT8, t.UINT16, t.UINT32, t.UINT64, t.FLOAT32, t.FLOAT64, t.BOOL, t.VECTOR2,
    t.VECTOR3, t.VECTOR4, t.STRING, t.BLOB, t.UNICODE_STRING, t.PYTHON, t.MAILBOX, t.UDO_REF, t.UserType("a.b"),
]  # fmt: skip
ODD = [
    0, 1, -1, 2, 127, 128, 255, 256, -128, -129, 65535, 65536, 2**31, -(2**31), 2**32, 2**63 - 1, 2**63, 2**64 - 1,
    2**64, -(2**63), -(2**63) - 1, 0.1, -0.0, 1e39, 1e308, float("inf"), float("nan"), True, False, None, "", "a",
    "žluť", "\ud800", b"", b"ab", bytes(300), (), [], (1, 2), (1, 2.5, "x"), [1, 2, 3, 4], {}, {"a": 1}, {"f0": 1},
    {"f0": 1, "f1": 2}, bytearray(b"xy"), range(3), object,
]  # fmt: skip


def random_type(rng: random.Random, depth: int) -> t.DataType:
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(SCALARS)
    if rng.random() < 0.5:
        return t.SequenceType(random_type(rng, depth - 1), rng.choice([None, None, 0, 1, 3]), rng.random() < 0.3)
    fields = tuple(t.Field(f"f{n}", random_type(rng, depth - 1)) for n in range(rng.randint(1, 4)))
    return t.RecordType(fields, rng.random() < 0.3)


def outcome(call, *args):
    try:
        result = call(*args)
    except (TerrazzoError, AttributeError, IndexError, TypeError) as problem:
        return f"{type(problem).__name__}: {problem}"
    return result.hex() if isinstance(result, bytes) else repr(result)


def random_value(rng: random.Random, data_type: t.DataType):
    if isinstance(data_type, t.SequenceType):
        count = rng.randint(0, 4) if data_type.size is None else data_type.size
        return [random_value(rng, data_type.of) for _ in range(count)]
    if isinstance(data_type, t.RecordType):
        return {each.name: random_value(rng, each.type) for each in data_type.fields}
    if rng.random() < 0.7:
        return data_type.default()
    return rng.choice(ODD)


def show(text: object) -> None:
    print(ascii(str(text)))


def codecs(rng: random.Random) -> None:
    for number in range(600):
        data_type = random_type(rng, 3)
        show(f"{number} {data_type.spell()}")
        codec = None
        try:
            codec = data_type.codec
        except TerrazzoError as problem:
            show(problem)
            continue
        show((codec.fixed, codec.least, codec.holds, codec.default()))
        for _ in range(4):
            value = random_value(rng, data_type)
            show(outcome(codec.check, value))
            show(outcome(codec.encode, value))
        for value in rng.sample(ODD, 6):
            show(outcome(codec.check, value))
            show(outcome(codec.encode, value))
        for _ in range(6):
            data = rng.randbytes(rng.randint(0, 24))
            show(outcome(codec.decode, data))
            show(outcome(codec.decode_from, data, rng.randint(-1, 3)))


def acts_on(state: State, rng: random.Random) -> list[Callable[[], object]]:
    bag = state["b"]
    return [
        lambda: state.set(0, rng.randint(-40000, 40000)),
        lambda: bag.append({"f0": rng.randint(0, 260), "f1": [rng.randint(0, 9)]}),
        lambda: bag.pop(rng.randint(-3, 3)),
        lambda: bag.__setitem__(rng.randint(-4, 4), {"f0": 1, "f1": []}),
        lambda: bag.__setitem__(slice(rng.randint(-3, 3), rng.randint(-3, 5)), [{"f0": 3, "f1": [1]}]),
        lambda: bag.__delitem__(slice(rng.randint(0, 3), rng.randint(0, 5), rng.choice([1, 2]))),
        lambda: setattr(bag[rng.randint(0, 3)], "f0", rng.randint(0, 300)),
        lambda: bag[rng.randint(0, 3)].f1.append(rng.randint(0, 70000)),
        lambda: bag.sort(key=lambda each: each.f0),
        lambda: bag.insert(1, bag[0]),
        lambda: state["c"].f1.extend([1, 2]),
        lambda: state["c"].f1.clear(),
        lambda: setattr(state["c"], rng.choice(["f0", "f2", "_x"]), 5),
        lambda: state["d"].__setitem__(rng.randint(0, 2), rng.randint(0, 256)),
        lambda: state["d"].append(1),
    ]


def edits(rng: random.Random) -> None:
    item = t.RecordType((t.Field("f0", t.UINT8), t.Field("f1", t.SequenceType(t.UINT16))), alias="ITEM")
    layout = Layout(
        "Thing",
        tuple(
            Property(name, each, ALL_CLIENTS)
            for name, each in [
                ("a", t.INT16),
                ("b", t.SequenceType(item)),
                ("c", item),
                ("d", t.SequenceType(t.UINT8, 2)),
            ]
        ),
    )
    heard: list[Change] = []
    state, copy = State(layout, heard.append), State(layout)
    for _ in range(1500):
        show(outcome(rng.choice(acts_on(state, rng))))
        for change in heard:
            internal = encode_internal(change, change.prop)
            external = encode_external(change, change.prop, len(layout))
            show((change, change.counts, internal.hex(), external.hex()))
            show(copy.apply_internal(internal))
        heard.clear()
        assert copy.encode() == state.encode()
        if rng.random() < 0.2:
            noise = bytes([rng.choice([0, 2, 3]), rng.randint(0, 3)]) + rng.randbytes(rng.randint(0, 16))
            trial = State(layout, values=layout.row.decode(state.encode()))
            show(outcome(trial.apply_internal, noise))
            show(outcome(partial(trial.apply_external, noise, is_slice=rng.random() < 0.5)))
            show(trial.encode().hex())


if __name__ == "__main__":
    print("compiled" if COMPILED else "plain", file=sys.stderr)
    codecs(random.Random(20261115))
    edits(random.Random(5))
