"""The browser client's codec against ours: golden values and changes, and whatever hypothesis thinks of."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrazzo._speed.values import RecordValue
from terrazzo.errors import DecodeError
from terrazzo.schema.changes import encode_external
from terrazzo.schema.export import export_schema, export_type
from terrazzo.schema.model import Side
from terrazzo.schema.plaindata import Opaque
from terrazzo.schema.refs import Ref
from terrazzo.schema.state import State
from terrazzo.schema.types import PythonType, RecordType, SequenceType
from terrazzo.schema.vectors import Vector
from tests.client.town import AVATAR, SCHEMA
from tests.schema.golden import read, tree, type_of, unhex, value_of
from tests.schema.strategies import data_types, values
from tests.web.node import Asked, needs_node

pytestmark = needs_node

SAFE = (1 << 53) - 1
VECTORS = json.loads((Path(__file__).parent.parent / "wire" / "client" / "vectors.json").read_text())


@pytest.fixture(scope="module")
def node():
    asked = Asked("codec.mjs")
    yield asked
    asked.close()


def portable(value):
    """A value as the JSON that codec.mjs makes of it."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if -SAFE <= value <= SAFE else {"$big": str(value)}
    if isinstance(value, float):
        names = {math.inf: "Infinity", -math.inf: "-Infinity"}
        return value if math.isfinite(value) else {"$float": names.get(value, "NaN")}
    if isinstance(value, Opaque):
        return {"$opaque": value.hex()}
    if isinstance(value, bytes):
        return {"$hex": value.hex()}
    if isinstance(value, Ref):
        fields = {"id": value.id, "component": int(value.component), "typeId": value.type_id}
        return {"$record": [[name, each] for name, each in {**fields, "ip": value.ip, "port": value.port}.items()]}
    if isinstance(value, RecordValue):
        return {"$record": [[name, portable(value[name])] for name in value]}
    if isinstance(value, dict):
        return {"$map": [[portable(key), portable(each)] for key, each in value.items()]}
    if isinstance(value, set):
        return {"$set": len(value)}
    items = [portable(each) for each in value]
    return {"$tuple": items} if isinstance(value, tuple) and not isinstance(value, Vector) else items


def matches(data_type, value):
    """The same, for a whole type: the browser has bytes where a USER_TYPE has no class."""
    if data_type.structure().startswith("USER_TYPE"):
        return {"$hex": value.hex()}
    if isinstance(data_type, SequenceType):
        items = [matches(data_type.of, each) for each in value]
        return {"$tuple": items} if data_type.is_tuple else items
    if isinstance(data_type, RecordType) and value is not None:
        return {"$record": [[each.name, matches(each.type, value[each.name])] for each in data_type.fields]}
    return portable(value)


def has_python(data_type):
    if isinstance(data_type, SequenceType):
        return has_python(data_type.of)
    if isinstance(data_type, RecordType):
        return any(has_python(each.type) for each in data_type.fields)
    return isinstance(data_type, PythonType)


def test_golden_values(node):
    wrong = []
    for case in read("golden_values.json"):
        data_type = type_of(case["type"])
        data = unhex(case["hex"])
        answer = node.ask(op="value", type=export_type(data_type), hex=data.hex())
        if answer != {"value": matches(data_type, data_type.codec.decode(data)), "hex": data.hex()}:
            wrong.append((case["id"], case["type"], str(answer)[:200]))
    assert wrong == []


def test_golden_values_cut_short_are_refused(node):
    for case in read("golden_values.json"):
        data = unhex(case["hex"])
        for cut in {0, len(data) // 2, len(data) - 1} & set(range(len(data))):
            answer = node.ask(op="value", type=export_type(type_of(case["type"])), hex=data[:cut].hex())
            assert answer.get("kind") == "DecodeError", (case["id"], cut, answer)


def test_python_keys_that_can_change_are_refused_by_both(node):
    """A dict with a key that is a tuple with a list inside."""
    data = b"\x09\xc1m\x01t\x02Nl\x00N"
    with pytest.raises(DecodeError):
        PythonType().codec.decode(data)
    answer = node.ask(op="value", type={"kind": "python"}, hex=data.hex())
    assert answer.get("kind") == "DecodeError"


def test_golden_changes(node):
    node.ask(op="schema", exported=export_schema(tree()))
    kinds = {"single": "whole", "nested": "nested", "slice": "slice"}
    for case in read("golden_changes.json"):
        prop = tree()[case["entity"]].client_properties[case["property_index"]]
        before, after = (prop.type.codec.encode(value_of(prop.type, case[key])) for key in ("before", "after"))
        external = unhex(case["external"]).hex()
        answer = node.ask(
            op="change",
            entity=case["entity"],
            property=case["property_index"],
            before=before.hex(),
            external=external,
            isSlice=case["kind"] == "slice",
        )
        assert answer.get("error") is None, (case["id"], answer)
        assert (answer["kind"], answer["property"]) == (kinds[case["kind"]], case["property_index"])
        assert answer["path"] == case["path"]
        assert answer["after"] == after.hex(), case["id"]
        assert answer["again"] == external, case["id"]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_value_of_any_type(node, data):
    data_type = data.draw(data_types)
    value = data_type.codec.check(data.draw(values(data_type)))
    encoded = data_type.codec.encode(value)
    answer = node.ask(op="value", type=export_type(data_type), hex=encoded.hex())
    assert answer["value"] == matches(data_type, value)
    if has_python(data_type):  # a float that is a whole number comes back as an integer
        assert data_type.codec.decode(bytes.fromhex(answer["hex"])) == value
    else:
        assert answer["hex"] == encoded.hex()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_bytes_are_refused_by_both_or_neither(node, data):
    data_type = data.draw(data_types)
    encoded = bytearray(data_type.codec.encode(data.draw(values(data_type))))
    for _ in range(data.draw(st.integers(1, 3)) if encoded else 0):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(encoded[: data.draw(st.integers(len(encoded) // 2, len(encoded)))])
    answer = node.ask(op="value", type=export_type(data_type), hex=damaged.hex())
    try:
        value = data_type.codec.decode(damaged)
    except DecodeError:
        assert answer.get("kind") == "DecodeError"
        return
    assert "error" not in answer, answer
    if not has_python(data_type) and "'NaN'" not in str(portable(value)):  # JavaScript has only one of the many
        assert answer["hex"] == data_type.codec.encode(value).hex()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_changes_are_refused_by_both_or_neither(node, data):
    """Bytes that hardly any server sends: both sides read them alike, and a refusal changes nothing."""
    node.ask(op="schema", exported=export_schema(SCHEMA))
    bag = data.draw(
        st.lists(st.fixed_dictionaries({"kind": st.integers(0, 9), "count": st.integers(0, 9)}), max_size=5)
    )
    index = AVATAR.client_layout.index["bag"]
    heard: list = []
    server = State(AVATAR.client_layout)
    server["bag"] = bag
    before = AVATAR.client_properties[index].codec.encode(server["bag"])
    server.listener = heard.append
    start, end = sorted((data.draw(st.integers(0, len(bag))), data.draw(st.integers(0, len(bag)))))
    server["bag"][start:end] = [{"kind": 1, "count": 2}, {"kind": 3, "count": 4}]
    [change] = heard
    external = bytearray(encode_external(change, index, len(AVATAR.client_layout)))
    if data.draw(st.booleans()):
        external[data.draw(st.integers(0, len(external) - 1))] = data.draw(st.integers(0, 255))
    is_slice = data.draw(st.sampled_from([True, True, False]))
    client = State(AVATAR.client_layout)
    client["bag"] = bag
    answer = node.ask(
        op="change", entity="Avatar", property=index, before=before.hex(), external=external.hex(), isSlice=is_slice
    )
    try:
        applied = client.apply_external(bytes(external), is_slice=is_slice)
    except DecodeError:
        assert answer.get("kind") == "DecodeError"
        return
    assert answer["property"] == applied.prop
    if applied.prop == index:
        assert answer["after"] == AVATAR.client_properties[index].codec.encode(client["bag"]).hex()


def test_defaults_and_indexes_come_over(node):
    exported = export_schema(SCHEMA)
    assert node.ask(op="schema", exported=exported) == {"digest": exported["digest"]}
    said = AVATAR.exposed(Side.CELL)
    say = next(each for each in said if each.name == "say")
    answer = node.ask(op="call", entity="Avatar", side="cell", method="say", args=["hé"])
    number = 12 + said.index(say)
    assert answer["hex"] == (bytes([number, 7, 0, 0, 0]) + say.encode_args("hé")).hex()
    answer = node.ask(op="call", entity="Avatar", side="cell", method="say", args=[])
    assert answer["kind"] == "UsageError"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ({"kind": "int", "bits": 8, "signed": True}, 128),
        ({"kind": "int", "bits": 64, "signed": False}, -1),
        ({"kind": "int", "bits": 16, "signed": True}, 1.5),
        ({"kind": "int", "bits": 16, "signed": True}, "1"),
        ({"kind": "float", "bits": 32}, 1e39),
        ({"kind": "float", "bits": 64}, "1"),
        ({"kind": "bool"}, 2),
        ({"kind": "text"}, 5),
        ({"kind": "text"}, "\ud800"),
        ({"kind": "bytes"}, "text"),
        ({"kind": "vector", "dimensions": 3}, [1, 2]),
        ({"kind": "ref"}, {"id": 1 << 40}),
        ({"kind": "array", "of": {"kind": "bool"}, "size": 2}, [True]),
        ({"kind": "record", "allow_none": False, "fields": [{"name": "a", "type": {"kind": "bool"}}]}, {"b": True}),
        ({"kind": "record", "allow_none": False, "fields": []}, None),
        ({"kind": "riddle"}, None),
    ],
)
def test_values_that_do_not_fit_are_refused(node, kind, value):
    assert node.ask(op="encode", type=kind, value=value).get("kind") == "UsageError"


def test_malformed_bodies_of_the_standard(node):
    for name, hex_body in VECTORS["malformed_bodies"].items():
        assert node.ask(op="body", hex=hex_body).get("kind") == "DecodeError", name
