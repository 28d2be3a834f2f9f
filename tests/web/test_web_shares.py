"""Fields that a client may not see: both clients read what is sent, and have the same in their place."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    BASE_AND_CLIENT,
    CELL_PUBLIC,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    EntityType,
    Record,
    Ref,
    Text,
    UInt8,
    UInt16,
    build,
    field,
    prop,
)
from terrazzo.schema.export import export_schema
from terrazzo.schema.flags import Receiver
from terrazzo.schema.shares import share_of
from terrazzo.schema.state import State
from terrazzo.sync import protocol
from terrazzo.sync.protocol import MethodTable
from tests.web.node import codec_of, needs_node
from tests.web.test_web_view import ask, check, live

pytestmark = needs_node


class Seal(Record):
    """Nothing of it is for clients."""

    owner: Ref = field(to=CELL_PUBLIC)


class Item(Record):
    kind: UInt8
    uses: UInt16 = field(default=300, to=OWN_CLIENT)
    mark: Text = field(default="plain", to=OTHER_CLIENTS)
    key: UInt8 = field(default=7, to=BASE)
    seals: Array[Seal] = field(default=[{"owner": None}])


class Hero(EntityType):
    bag: Array[Item] = prop(ALL_CLIENTS)
    best: Item | None = prop(ALL_CLIENTS)
    pair: tuple[Item, Item] = prop(
        ALL_CLIENTS, default=({"kind": 1, "uses": 2, "mark": "a", "key": 99, "seals": []},) * 2
    )
    seal: Seal = prop(ALL_CLIENTS)
    chest: Array[Item] = prop(BASE_AND_CLIENT)


SCHEMA = build([Hero]).checked()
HERO = SCHEMA["Hero"]
TABLE = MethodTable(SCHEMA)
ME, OTHER, ALIAS = 5, 6, 3
HERE, AHEAD = (1.0, 2.0, 3.0), (0.5, 0.0, 0.0)


def item(kind: int, **more) -> dict:
    return {"kind": kind, "uses": 4, "mark": "x", "key": 8, "seals": [], **more}


class Story:
    """A hero, as its own client gets it, and as another client gets it."""

    def __init__(self, receiver: Receiver, alias: int) -> None:
        self.messages: list[bytes] = []
        self._receiver = receiver
        self._alias = alias
        self.layout = HERO.client_layout
        self.state = State(self.layout, self._note)

    def _note(self, change) -> None:
        given = self.layout.properties[change.prop]
        shared = share_of(change, given.codec, given.codec_for(self._receiver))
        if shared is not None and self._receiver.gets(given.flags):
            told = protocol.encode_change(shared, change.prop, len(self.layout))
            self.messages.append(protocol.with_alias(self._alias, told))

    def edit(self, what: int, kind: int) -> None:
        bag, best = self.state["bag"], self.state["best"]
        if what == 0 or not bag:
            bag.insert(0, item(kind, seals=[{"owner": None}]))
        elif what == 1:
            bag[-1].kind = kind
        elif what == 2:
            bag[0].uses = kind
        elif what == 3:
            bag[0].mark = str(kind)
        elif what == 4:
            bag[0] = item(kind)
        elif what == 5:
            bag[:1] = [item(kind), item(kind, mark="y")]
        elif what == 6:
            bag[0].seals.append({"owner": None})
        elif what == 7:
            self.state["best"] = None if best else item(kind)
        elif what == 8 and best:
            best.uses, best.mark, best.key = kind, f"{kind}", kind
        elif what == 9:
            self.state["pair"] = (item(kind), item(1))
        else:
            self.state["chest"].append(item(kind))


def row(story: Story, names) -> list:
    return [story.state[name] for name in names]


def begin(own: Story, other: Story) -> list[bytes]:
    for story in (own, other):
        story.edit(0, 1)
        story.edit(7, 2)
    others = HERO.other_client_layout
    some = {others.index[name]: other.state[name] for name in ("bag", "best")}
    messages = [
        protocol.encode_base_player(ME, HERO, row(own, HERO.base_player_layout.names)),
        protocol.encode_cell_player(HERO, 1, HERE, AHEAD, row(own, HERO.cell_player_layout.names)),
        protocol.encode_announce(OTHER, ALIAS, HERO),
        protocol.encode_describe(ALIAS, 9, HERE, AHEAD, others.encode_some(some)),
    ]
    own.messages.clear()
    other.messages.clear()
    return messages


@pytest.fixture(scope="module")
def node():
    with codec_of(SCHEMA) as asked:
        yield asked


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10), st.integers(0, 255)), max_size=15))
def test_both_clients_have_their_share_after_any_change(node, edits):
    own, other = Story(Receiver.OWN_CLIENT, protocol.OWN), Story(Receiver.OTHER_CLIENTS, ALIAS)
    messages = begin(own, other)
    for is_own, what, kind in edits:
        story = own if is_own else other
        story.edit(what, kind)
        messages += story.messages
        story.messages.clear()
    ours = live(TABLE, messages)
    check(ask(node, messages), ours)
    assert ["violation"] not in [event for events in ours["told"] for event in events]
    mine, theirs = HERO.own_client_layout, HERO.other_client_layout
    assert ours["known"][0][1] == mine.row.encode(own.state.values()).hex()
    seen = [other.state[name] if name != "chest" else [] for name in theirs.names]
    assert ours["known"][1][1] == theirs.row.encode(seen).hex()


def test_a_change_of_what_is_hidden_is_a_violation(node):
    own, other = Story(Receiver.OWN_CLIENT, protocol.OWN), Story(Receiver.OTHER_CLIENTS, ALIAS)
    messages = begin(own, other)
    own.edit(2, 9)  # `uses` of the first thing in the bag, sent to the wrong one
    told = protocol.EntityMessage(own.messages[0][0], own.messages[0][2:])
    messages.append(protocol.with_alias(ALIAS, told))
    ours = live(TABLE, messages)
    check(ask(node, messages), ours)
    assert ours["told"][-1] == [["violation"]]


def test_exported_types_are_the_shares():
    [hero] = export_schema(SCHEMA)["entities"]
    told = {each["name"]: each for each in hero["properties"]}
    fields = {each["name"]: each["type"] for each in told["best"]["type"]["fields"]}
    others = {each["name"]: each["type"] for each in told["best"]["other_type"]["fields"]}
    assert {name for name, each in fields.items() if each["kind"] == "hidden"} == {"mark", "key", "seals"}
    assert {name for name, each in others.items() if each["kind"] == "hidden"} == {"uses", "key", "seals"}
    assert others["uses"] == {"kind": "hidden", "of": {"kind": "int", "bits": 16, "signed": False}, "default": "2c01"}
    assert (told["pair"]["default"], told["pair"]["other_default"]) == ("0102000102" + "00", "01016101" + "0161")
    assert "other_type" not in told["seal"]
    assert told["seal"]["type"]["kind"] == "hidden"
