"""Every kind of mistake in classes: reported with its file and line, once, and all in one pass."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from terrazzo import load_package

ENTITY = "class A(EntityType): ...\n"
TOP = "from typing import Annotated\nfrom terrazzo import *\n"

# Each mistake is on the line that ends in `#!`.
MISTAKES: list[tuple[str, str]] = [
    ("unknown type", "class A(EntityType):\n    x: 'UInt24' = prop(BASE) #!"),
    ("unknown type", "class A(EntityType):\n    x: dict = prop(BASE) #!"),
    ("unknown type", "class A(EntityType):\n    x: Text | None = prop(BASE) #!"),
    (
        "unknown type",
        ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self, x: set): ... #!",
    ),
    (
        "unknown type",
        ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self) -> set: ... #!",
    ),
    ("array without of", "class A(EntityType):\n    x: Array = prop(BASE) #!"),
    ("bad size", "class A(EntityType):\n    x: Annotated[Array[UInt8], Size(-1)] = prop(BASE) #!"),
    ("property without flags", "class A(EntityType):\n    x: UInt8 = prop() #!"),
    ("property without flags", "class A(EntityType):\n    x: UInt8 #!"),
    ("property without flags", "class A(EntityType):\n    x: UInt8 = 5 #!"),
    ("property without type", "class A(EntityType):\n    x = prop(BASE) #!"),
    ("unknown flag", "class A(EntityType):\n    x: UInt8 = prop('ALL_CLIENT') #!"),
    (
        "unknown flag",
        "class R(Record):\n    x: UInt8 = field(to='OWN') #!\nclass A(EntityType):\n    r: R = prop(BASE)",
    ),
    (
        "unknown flag",
        "class R(Record):\n    x: UInt8 = field(to=EDITOR_ONLY) #!\nclass A(EntityType):\n    r: R = prop(BASE)",
    ),
    (
        "mailbox in client data",
        "class R(Record):\n    x: Ref = field(to=OWN_CLIENT)\nclass A(EntityType):\n    r: R = prop(ALL_CLIENTS) #!",
    ),
    ("bad default", "class A(EntityType):\n    x: UInt8 = prop(BASE, default=300) #!"),
    ("bad default", "class A(EntityType):\n    x: Vector3 = prop(BASE, default=(1, 2)) #!"),
    (
        "bad default",
        "class A(EntityType):\n    x: Text = prop(BASE, saved=True, default='ab', database_length=1) #!",
    ),
    ("bad identifier", "class A(EntityType):\n    x: UInt8 = prop(BASE, unique=True) #!"),
    (
        "bad identifier",
        "class A(EntityType):\n    x: Text = prop(BASE, unique=True)\n    y: Text = prop(BASE, unique=True) #!",
    ),
    ("bad rate", ENTITY + "class B(Cell, of=A):\n    @exposed(rate=0)\n    def f(self): ... #!"),
    ("bad rate", ENTITY + "class B(Cell, of=A):\n    @exposed(rate=-1)\n    def f(self): ... #!"),
    ("bad rate", ENTITY + "class B(Cell, of=A):\n    @exposed(rate='often')\n    def f(self): ... #!"),
    ("bad argument", ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self, x: UInt8 = 5): ... #!"),
    ("exception in game code", "class A(EntityType):\n    x: UInt8 = prop(ALL_CLIENTS | OWN_CLIENT) #!"),
    ("bad index", "class A(EntityType):\n    x: UInt8 = prop(BASE, indexed='yes') #!"),
    ("bad header size", "class A(EntityType):\n    x: UInt8 = prop(BASE, header_size=5) #!"),
    ("bad number", "class A(EntityType):\n    x: UInt8 = prop(BASE, database_length=-5) #!"),
    ("bad number", "class A(EntityType):\n    appeal_radius = -1 #!"),
    ("reserved name", "class A(EntityType):\n    volatile: UInt8 = prop(BASE) #!"),
    ("reserved name", "class A(EntityType):\n    _x: UInt8 = prop(BASE) #!"),
    ("duplicate property", "class A(EntityType):\n    x: UInt8 = prop(BASE)\n    x: UInt8 = prop(BASE) #!"),
    ("mailbox in client data", "class A(EntityType):\n    x: Array[Ref] = prop(OWN_CLIENT) #!"),
    (
        "mailbox in client data",
        ENTITY + "class B(Client, of=A):\n    @remote\n    def f(self, r: Ref): ... #!",
    ),
    ("unknown detail level", "class A(EntityType):\n    x: UInt8 = prop(ALL_CLIENTS, detail='near') #!"),
    (
        "LoD levels out of order",
        "class A(EntityType):\n    x: UInt8 = prop(ALL_CLIENTS, detail='far')\n"
        "    detail_levels = [level('near', 30), level('far', 20)] #!",
    ),
    ("bad LoD level", "class A(EntityType):\n    detail_levels = [30] #!"),
    (
        "too many LoD levels",
        "class A(EntityType):\n    detail_levels = [level(str(i), i) for i in (1, 2, 3, 4)] #!",
    ),
    ("volatile order", "class A(EntityType):\n    volatile = Volatile(position=True, yaw=50, pitch=True) #!"),
    ("bad setting", "class A(EntityType):\n    volatile = True #!"),
    ("bad setting", "class A(EntityType):\n    server_only = 1 #!"),
    ("bad setting", "class A(EntityType):\n    temp_properties = 'path' #!"),
    ("bad setting", "class A(EntityType):\n    compression = Compression(internal=10) #!"),
    ("two parents", ENTITY + "class B(EntityType): ...\nclass C(A, B): ... #!"),
    ("duplicate entity", "class A(EntityType): ...\nB = A\nclass A(EntityType): ... #!"),
    ("missing component", "class A(EntityType):\n    x = component(Text) #!"),
    (
        "nested component",
        "class C(ComponentType): ...\nclass D(ComponentType):\n    c = component(C) #!\n"
        "class A(EntityType):\n    d = component(D)",
    ),
    (
        "argument without type",
        ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self,\n        x): ... #!",
    ),
    (
        "bad argument",
        ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self, *x: UInt8): ... #!",
    ),
    (
        "bad argument",
        ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self, x: UInt8 = 3): ... #!",
    ),
    (
        "bad method",
        ENTITY + "class B(Cell, of=A):\n    @remote\n    @staticmethod\n    def f(x: UInt8): ... #!",
    ),
    (
        "bad header size",
        ENTITY + "class B(Cell, of=A):\n    @remote(header_size=0)\n    def f(self): ... #!",
    ),
    (
        "duplicate method",
        ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self): ...\n    @remote\n    def f(self): ... #!",
    ),
    (
        "unknown exposure",
        ENTITY + "class B(Cell, of=A):\n    @exposed(to=BASE)\n    def f(self): ... #!",
    ),
    (
        "unknown exposure",
        ENTITY + "class B(Base, of=A):\n    @exposed(to=ALL_CLIENTS)\n    def f(self): ... #!",
    ),
    (
        "unknown exposure",
        ENTITY + "class B(Client, of=A):\n    @exposed\n    def f(self): ... #!",
    ),
    (
        "conflicting method",
        "class I(Interface): ...\nclass J(Interface): ...\nclass A(I, J, EntityType): ...\n"
        "class P(Cell, of=I):\n    @remote\n    def f(self, x: UInt8): ...\n"
        "class Q(Cell, of=J):\n    @remote\n    def f(self, x: UInt16): ... #!",
    ),
    (
        "method without code",
        "class I(Interface): ...\nclass A(I, EntityType): ...\n"
        "class P(Cell, of=I):\n    @remote\n    def f(self): ...\n"
        "class Q(Cell, of=A): ... #!",
    ),
    ("duplicate part", ENTITY + "class B(Cell, of=A): ...\nclass C(Cell, of=A): ... #!"),
    (
        "name taken",
        "class A(EntityType):\n    x: UInt8 = prop(CELL_PUBLIC)\nclass B(Cell, of=A):\n    def x(self): ... #!",
    ),
    (
        "circular alias",
        "class R(Record):\n    r: 'Array[R]' #!\nclass A(EntityType):\n    x: R = prop(BASE)\n    y: R = prop(BASE)",
    ),
    (
        "circular alias",
        "class R(Record):\n    s: 'Array[S]'\nclass S(Record):\n    r: Array[R] #!\n"
        "class A(EntityType):\n    x: R = prop(BASE)",
    ),
    ("unknown type", "class R(Record):\n    a: set #!\nclass A(EntityType):\n    x: Array[R] = prop(BASE)"),
    (
        "bad default",
        "class R(Record):\n    a: UInt8 = -1 #!\nclass A(EntityType):\n    x: R = prop(BASE)",
    ),
    ("reserved name", "class R(Record):\n    keys: UInt8 #!\nclass A(EntityType):\n    x: R = prop(BASE)"),
    (
        "duplicate field",
        "class R(Record):\n    a: Int8\n    a: Int8 #!\nclass A(EntityType):\n    x: R = prop(BASE)",
    ),
    ("empty element type", "class R(Record): ...\nclass A(EntityType):\n    x: Array[R] = prop(BASE) #!"),
    ("malformed Python", "class A(EntityType)\n    x = 3"),
    ("exception in game code", "class A(EntityType):\n    x: UInt8 = prop(BASE, unknown=3) #!"),
    ("exception in game code", ENTITY + "class B(Cell, of='A'): ... #!"),
    ("missing module", "import no_such_module_at_all #!"),
]


def load(folder: Path, code: str) -> tuple[list[tuple[str, int, str]], list[int], list[str]]:
    """The problems of a game of one file, the lines marked in it, and the messages."""
    file = folder / "game.py"
    file.write_text(TOP + code)
    loaded = load_package(file)
    problems = [(each.file, each.line, each.kind) for each in loaded.errors]
    marked = [number for number, line in enumerate((TOP + code).splitlines(), 1) if line.endswith("#!")]
    return problems, marked, [each.message for each in loaded.errors]


@pytest.mark.parametrize(("kind", "code"), MISTAKES, ids=lambda each: each if "\n" not in each else "")
def test_one_mistake_is_one_error_with_file_and_line(tmp_path: Path, kind: str, code: str) -> None:
    problems, marked, messages = load(tmp_path, code)
    assert problems == [("game.py", (marked or [3])[0], kind)]
    assert len(messages[0]) > 10


def test_strings_as_annotations_make_no_difference(tmp_path: Path) -> None:
    code = f"from __future__ import annotations\n{TOP}class A(EntityType):\n    x: Nope = prop(BASE)\n"
    (tmp_path / "game.py").write_text(code)
    (problem,) = load_package(tmp_path / "game.py").errors
    assert (problem.line, problem.kind) == (5, "unknown type")
    assert "Nope" in problem.message


def test_all_mistakes_in_one_pass_sorted_and_once_for_all_heirs(tmp_path: Path) -> None:
    code = textwrap.dedent("""\
        class I(Interface):
            a: 'Nope' = prop(BASE) #!
            b: UInt8 = prop(ALL_CLIENTS, detail="near") #!
            c: UInt8 = prop(BASE)
        class A(I, EntityType):
            d: UInt8 = prop(BASE, default=-1) #!
        class B(I, EntityType):
            e: UInt8 #!
        class BCell(Cell, of=B):
            @remote
            def f(self, x, y: 'Nope'): ... #!
        """)
    problems, marked, _ = load(tmp_path, code)
    assert [line for _, line, _ in problems] == sorted([*marked, marked[-1]])
    assert [kind for _, _, kind in problems] == [
        "unknown type",
        "unknown detail level",
        "bad default",
        "property without flags",
        "argument without type",
        "unknown type",
    ]


def test_errors_of_definitions_have_what_to_do(tmp_path: Path) -> None:
    for code, words in (
        ("class A(EntityType):\n    hp: UInt8", "A.hp: set its flags: hp: … = prop(ALL_CLIENTS)"),
        ("class A(EntityType):\n    hp: UInt8 = prop('ALL_CLIENT')", "did you mean ALL_CLIENTS?"),
        (
            "class A(EntityType):\n    hp: UInt8 = prop(BASE, detail='x')",
            "declare it, or use one of those declared",
        ),
        ("class A(EntityType):\n    hp: UInt8 = prop(BASE, save=True)", "prop has no option save; did you mean saved?"),
        (ENTITY + "class B(Cell, of=A):\n    @exposed(rates=3)\n    def f(self): ...", "did you mean rate?"),
        (ENTITY + "class B(Cell, of=A):\n    @remote\n    def f(self, x: UInt8 = 5): ...", "B.f: x=5 cannot be sent"),
        ("class A(EntityType):\n    hp: UInt8 = prop(ALL_CLIENTS | OWN_CLIENT)", "a property has exactly one flag"),
    ):
        assert words in load(tmp_path, code)[2][0]


def test_too_many_client_properties(tmp_path: Path) -> None:
    lines = "\n".join(f"    p{number}: UInt8 = prop(ALL_CLIENTS)" for number in range(257))
    problems, _, _ = load(tmp_path, f"class A(EntityType):\n{lines}")
    assert problems == [("game.py", 3, "too many client properties")]


def test_unreliable_without_latest_only_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(
        TOP
        + "class A(EntityType):\n    x: UInt8 = prop(ALL_CLIENTS, reliable=False)\n"
        + "class B(Client, of=A):\n    @remote(reliable=False)\n    def f(self): ...\n"
    )
    loaded = load_package(tmp_path / "game.py")
    assert loaded.errors == []
    assert [(each.line, each.kind) for each in loaded.warnings] == [
        (4, "unreliable without latest_only"),
        (7, "unreliable without latest_only"),
    ]


def test_a_record_with_private_fields_in_a_client_call_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(
        TOP
        + "class R(Record):\n    x: UInt8\n    y: UInt8 = field(to=OWN_CLIENT)\n"
        + "class A(EntityType):\n    r: R = prop(ALL_CLIENTS)\n"
        + "class B(Client, of=A):\n    @remote\n    def f(self, r: R): ...\n"
    )
    loaded = load_package(tmp_path / "game.py")
    assert loaded.errors == []
    assert [(each.line, each.kind) for each in loaded.warnings] == [(10, "whole record in client call")]


def test_option_without_effect_is_a_warning(tmp_path: Path) -> None:
    code = textwrap.dedent("""\
        class A(EntityType):
            x: UInt8 = prop(BASE, indexed=True) #!
            y: UInt8 = prop(BASE, editable=True) #!
            z: UInt8 = prop(BASE, saved=True)
            temp_properties = ("x",) #!
            compression = Compression(internal=1) #!
            explicit_database_id = True #!
        class B(Cell, of=A):
            @remote(detail_distance=3.0)
            def f(self) -> UInt8: ... #!
        class C(Client, of=A):
            @remote(detail_distance=3.0)
            def g(self): ...
            @remote
            def h(self) -> UInt8: ... #!
        """)
    (tmp_path / "game.py").write_text(TOP + code)
    loaded = load_package(tmp_path / "game.py")
    assert loaded.errors == []
    marked = [number for number, line in enumerate((TOP + code).splitlines(), 1) if line.endswith("#!")]
    assert [each.line for each in loaded.warnings] == marked
    assert {each.kind for each in loaded.warnings} == {"no effect yet"}
    assert loaded.warnings[0].message == "A.x: indexed has no effect yet: leave it out"
