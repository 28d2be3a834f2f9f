"""The callbacks of client parts: which one, with what, in which order, and what happens when one fails."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo import (
    ALL_CLIENTS,
    Array,
    Client,
    ComponentType,
    EntityType,
    Int16,
    Record,
    Text,
    UInt8,
    build,
    component,
    prop,
    remote,
)
from terrazzo._speed.values import Change
from terrazzo.client import ClientGame
from terrazzo.client.stage import Stage
from terrazzo.schema.model import Side
from terrazzo.schema.state import State
from terrazzo.sync import protocol
from terrazzo.sync.view import ClientView


class Gem(Record):
    """Something small."""

    size: UInt8
    marks: Array[Int16]


class Health(ComponentType):
    """Something that several types have."""

    hp: Int16 = prop(ALL_CLIENTS)
    wounds: Array[UInt8] = prop(ALL_CLIENTS)


class HealthClient(Client, of=Health):
    """The code of the component."""

    @remote
    def on_knock(self, count: UInt8) -> None:
        HEALED.append((self.id, self.hp, count))


HEALED: list[tuple[int, int, int]] = []


class Chest(EntityType):
    """Has something of everything that changes."""

    label: Text = prop(ALL_CLIENTS)
    gems: Array[Gem] = prop(ALL_CLIENTS)
    best: Gem = prop(ALL_CLIENTS)
    health = component(Health)


class ChestClient(Client, of=Chest):
    """Only so that it can be called."""

    @remote
    def on_knock(self, count: UInt8) -> None: ...


SCHEMA = build([Chest]).checked()
CHEST = SCHEMA["Chest"]
LAYOUT = CHEST.client_layout
AHEAD = (0.0, 0.0, 0.0)

SETTERS = [
    f"set_{kind}{name}"
    for name in ("label", "gems", "best", "health_hp", "health_wounds")
    for kind in ("", "nested_", "slice_")
]


def part_with(names: Any) -> type[Client]:
    """A part that has these callbacks, and writes down what each is called with and what it sees then."""

    def __init__(self: Any) -> None:
        self.heard = []

    def recorder(name: str) -> Any:
        def callback(self: Any, *args: Any) -> None:
            self.heard.append((name, args, self._state.encode()))
            if name in self.failing:
                raise ValueError(f"{name} fails")

        return callback

    body = {"__init__": __init__, "failing": frozenset(), "on_knock": recorder("on_knock")}
    return type("Part", (ChestClient,), {**body, **{name: recorder(name) for name in names}})


class Play:
    """A chest on the server, and its part at a client that gets every change."""

    def __init__(self, names: Any) -> None:
        self.logged: list[dict[str, Any]] = []
        game = ClientGame(SCHEMA, {"Chest": part_with(names)})
        self.view = ClientView(game.methods)
        self.methods = game.methods
        self.stage = Stage(game, self, lambda event, **facts: self.logged.append(facts))  # type: ignore[arg-type]
        self.server = State(LAYOUT)
        self.server.listener = self._on_change
        self.messages: list[bytes] = []
        self.states: list[bytes] = [self.server.encode()]
        rows = [CHEST.base_player_layout, CHEST.cell_player_layout]
        base, cell = ([self.server[name] for name in row.names] for row in rows)
        self.begin = [
            protocol.encode_base_player(1, CHEST, base),
            protocol.encode_cell_player(CHEST, 1, AHEAD, AHEAD, cell),
        ]
        self.hear(*self.begin)

    def _on_change(self, change: Change) -> None:
        told = protocol.encode_change(change, change.prop, len(LAYOUT))
        self.messages.append(protocol.with_alias(0, told))
        self.states.append(self.server.encode())

    def knock(self, count: int) -> None:
        args = CHEST.find_method(Side.CLIENT, "on_knock")[1].encode_args(count)
        self.messages.append(protocol.with_alias(0, self.methods.encode_call(CHEST, Side.CLIENT, "on_knock", args)))
        self.states.append(self.server.encode())

    def hear(self, *messages: bytes) -> None:
        for message in messages:
            for event in self.view.apply(message):
                self.stage.play(event)  # type: ignore[arg-type]

    @property
    def part(self) -> Any:
        return self.stage.parts[1]


def value_in(state: bytes, name: str) -> Any:
    values = LAYOUT.row.decode(state)
    return values[LAYOUT.index[name]]


def test_a_callback_for_each_kind_of_change():
    play = Play(SETTERS)
    play.server["label"] = "old"
    play.server["gems"].extend([{"size": 1, "marks": [1, 2]}, {"size": 2, "marks": []}])
    play.server["gems"][0].size = 5
    play.server["gems"][0].marks[0:1] = [7, 8, 9]
    play.server["best"].marks.append(4)
    play.server["health.hp"] = 3
    play.server["health.wounds"].append(6)
    play.hear(*play.messages)
    assert [(name, args) for name, args, _ in play.part.heard] == [
        ("set_label", ("",)),
        ("set_slice_gems", ([(0, 2)], [])),
        ("set_nested_gems", ([0, "size"], 1)),
        ("set_slice_gems", ([0, "marks", (0, 3)], [1])),
        ("set_slice_best", (["marks", (0, 1)], [])),
        ("set_health_hp", (0,)),
        ("set_slice_health_wounds", ([(0, 1)], [])),
    ]
    assert [state for _, _, state in play.part.heard] == play.states[1:]


def test_without_them_the_plain_one_gets_the_whole_value_as_it_was():
    play = Play(["set_gems", "set_best", "set_health_wounds"])
    play.server["gems"].extend([{"size": 1, "marks": [1, 2]}, {"size": 2, "marks": []}])
    play.server["gems"][0].size = 5
    play.server["gems"][0].marks[0:1] = [7, 8, 9]
    del play.server["gems"][1]
    play.server["best"].marks.append(4)
    play.server["health.wounds"].append(6)
    play.hear(*play.messages)
    assert [(name, args) for name, args, _ in play.part.heard] == [
        ("set_gems", ([],)),
        ("set_gems", ([{"size": 1, "marks": [1, 2]}, {"size": 2, "marks": []}],)),
        ("set_gems", ([{"size": 5, "marks": [1, 2]}, {"size": 2, "marks": []}],)),
        ("set_gems", ([{"size": 5, "marks": [7, 8, 9, 2]}, {"size": 2, "marks": []}],)),
        ("set_best", ({"size": 0, "marks": []},)),
        ("set_health_wounds", ([],)),
    ]


def test_what_was_before_is_the_games_to_keep_and_to_change():
    play = Play(["set_gems"])
    play.server["gems"].append({"size": 1, "marks": [1]})
    play.server["gems"][0].size = 2
    play.hear(*play.messages)
    [_, (_, (before,), _)] = play.part.heard
    before[0].marks.append(5)
    before.clear()
    assert play.part.gems == [{"size": 2, "marks": [1]}]


def test_a_method_of_a_component_is_not_the_entitys_of_the_same_name():
    HEALED.clear()
    play = Play([])
    for owner in ("health", None):
        told = play.methods.encode_call(CHEST, Side.CLIENT, "on_knock", b"\x05", component=owner)
        play.hear(protocol.with_alias(0, told))
    assert HEALED == [(1, 0, 5)]
    assert [(name, args) for name, args, _ in play.part.heard] == [("on_knock", (5,))]


def test_what_the_part_does_not_care_for_is_passed_over():
    play = Play(["set_nested_gems"])
    play.server["label"] = "x"
    play.server["gems"].append({"size": 1, "marks": []})
    play.server["best"].size = 3
    play.hear(*play.messages)
    assert play.part.heard == []
    assert play.logged == []


def test_a_callback_that_fails_is_reported_and_everything_goes_on():
    play = Play(["set_label", "set_gems", "set_slice_best"])
    play.part.failing = {"set_label", "set_gems", "on_knock", "set_slice_best"}
    play.server["label"] = "a"
    play.server["gems"].append({"size": 1, "marks": []})
    play.knock(2)
    play.server["best"].marks.append(1)
    play.server["label"] = "b"
    play.hear(*play.messages)
    expected = ["set_label", "set_gems", "on_knock", "set_slice_best", "set_label"]
    assert [name for name, _, _ in play.part.heard] == expected
    assert [each["what"] for each in play.logged] == [f"Chest 1: client {name}" for name in expected]
    assert [each["error"] for each in play.logged] == [f"ValueError: {name} fails" for name in expected]
    assert all("test_callbacks.py" in each["trace"] for each in play.logged)
    assert play.part._state.encode() == play.server.encode()
    assert not play.view.faults


GEMS = st.fixed_dictionaries({"size": st.integers(0, 3), "marks": st.lists(st.integers(0, 3), max_size=3)})
AT = st.integers(0, 3)
EDITS = st.one_of(
    st.tuples(st.just("label"), st.sampled_from("abc")),
    st.tuples(st.just("gems"), st.lists(GEMS, max_size=3)),
    st.tuples(st.just("insert"), AT, GEMS),
    st.tuples(st.just("cut"), AT, AT),
    st.tuples(st.just("size"), AT, st.integers(0, 3)),
    st.tuples(st.just("marks"), AT, AT, AT, st.lists(st.integers(0, 3), max_size=2)),
    st.tuples(st.just("best"), st.integers(0, 3)),
    st.tuples(st.just("wound"), st.integers(0, 3)),
    st.tuples(st.just("knock"), st.integers(0, 3)),
)


def edit(play: Play, what: str, *args: Any) -> None:
    gems = play.server["gems"]
    if what in ("label", "gems"):
        play.server[what] = args[0]
    elif what == "insert":
        gems.insert(*args)
    elif what == "cut":
        del gems[args[0] : args[1]]
    elif what == "size" and args[0] < len(gems):
        gems[args[0]].size = args[1]
    elif what == "marks" and args[0] < len(gems):
        gems[args[0]].marks[args[1] : args[2]] = args[3]
    elif what == "best":
        play.server["best"].size = args[0]
    elif what == "wound":
        play.server["health.wounds"].append(args[0])
    elif what == "knock":
        play.knock(args[0])


@settings(max_examples=150)
@given(st.lists(EDITS, max_size=12), st.sets(st.sampled_from(SETTERS)), st.sets(st.sampled_from(SETTERS)))
def test_callbacks_come_in_the_order_of_the_messages(edits, names, failing):
    """Each callback sees the state right after its message, and its `old` is the state right before, even if another
    fails."""
    play = Play(names)
    play.part.failing = failing
    for each in edits:
        edit(play, *each)
    told = []
    for at, message in enumerate(play.messages):
        before = len(play.part.heard)
        play.hear(message)
        told += [at] * (len(play.part.heard) - before)
    assert len(set(told)) == len(told), "one callback for a message, at most"
    for at, (name, args, state) in zip(told, play.part.heard, strict=True):
        assert state == play.states[at + 1]
        if name.startswith(("set_nested_", "set_slice_")) or name == "on_knock":
            continue
        prop_name = name.removeprefix("set_").replace("health_", "health.")
        assert args == (value_in(play.states[at], prop_name),)
    assert len(play.logged) == sum(name in failing for name, _, _ in play.part.heard)
