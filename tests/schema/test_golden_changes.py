"""Every golden change: made by plain assignment it encodes to the golden bytes; applied it gives the golden state."""

import pytest

from terrazzo._speed.values import NESTED, SLICE, WHOLE, Change
from terrazzo.schema.changes import encode_external, encode_internal
from terrazzo.schema.state import State
from tests.schema.golden import read, tree, unhex, value_of

CHANGES = read("golden_changes.json")
KINDS = {"single": WHOLE, "nested": NESTED, "slice": SLICE}


def ids(case):
    return f"{case['id']}-{case['kind']}-{case['property']}"


def child(value, step):
    return value[step]


def make(state, case, new):
    """Change the property the way a game would."""
    name = case["property"]
    if case["kind"] == "single":
        state[name] = new
        return
    container = state[name]
    path = case["path"]
    for step in path[:-1] if case["kind"] == "nested" else path:
        container = child(container, step)
    if case["kind"] == "nested":
        container[path[-1]] = new
    else:
        start, end = case["slice"]
        container[start:end] = new


def type_at(data_type, path):
    for step in path:
        if isinstance(step, str):
            data_type = next(each.type for each in data_type.fields if each.name == step)
        else:
            data_type = data_type.of
    return data_type


@pytest.mark.parametrize("case", CHANGES, ids=ids)
def test_change(case):
    entity = tree()[case["entity"]]
    layout = entity.client_layout
    index = layout.index[case["property"]]
    prop = layout.properties[index]
    assert index == case["property_index"]
    before, after = (value_of(prop.type, case[key]) for key in ("before", "after"))
    changed_type = type_at(prop.type, case["path"])
    new = value_of(changed_type, case["new"])

    heard: list[Change] = []
    sender = State(layout)
    sender[case["property"]] = before
    sender.listener = heard.append
    make(sender, case, new)
    assert sender[case["property"]] == after
    if after == before:
        assert heard == []
        return
    [change] = heard
    assert change.kind == KINDS[case["kind"]]
    assert change.prop == index
    external = encode_external(change, index, len(layout))
    assert external == unhex(case["external"])
    if case.get("direct"):
        assert change.payload == unhex(case["direct"])

    receiver = State(layout)
    receiver[case["property"]] = before
    read = receiver.decode_external(external, is_slice=case["kind"] == "slice")
    assert encode_external(read, read.prop, len(layout)) == external
    applied = receiver.apply_external(external, is_slice=case["kind"] == "slice")
    assert receiver[case["property"]] == after
    check_applied(applied, case, prop, before, new)
    assert receiver.encode() == sender.encode()

    if case["internal"] is None:
        return
    place = entity.cell_layout.index[case["property"]]
    internal = encode_internal(change, place)
    assert internal == unhex(case["internal"])
    ghost = State(entity.ghost_layout)
    ghost[case["property"]] = before
    applied = ghost.apply_internal(internal)
    assert ghost[case["property"]] == after
    check_applied(applied, case, prop, before, new)


def check_applied(applied, case, prop, before, new):
    name, arguments = applied.callback("x")
    old = before
    for step in case["path"]:
        old = old[step]
    if case["kind"] == "single":
        assert (name, arguments) == ("set_x", (old,))
    elif case["kind"] == "nested":
        assert (name, arguments) == ("set_nested_x", (case["path"], old))
    else:
        start, end = case["slice"]
        assert (name, arguments) == (
            "set_slice_x",
            ([*case["path"], (start, start + len(new))], old[start:end]),
        )
