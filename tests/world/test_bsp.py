"""The tree of a space: every point in exactly one leaf, whatever was done to it; the same after a journey as bytes."""

from __future__ import annotations

from math import inf, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError, UsageError
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.world.bsp import DEPTH_MAX, BspTree, CellId, Leaf, Node
from terrazzo.world.rect import PLANE, Axis, Rect

BOUNDS = Rect(-8, -8, 8, 8)
PLACES = st.integers(-10, 10).map(float)
POINTS = [(float(x), float(z)) for x in range(-11, 12) for z in range(-11, 12)]


def app(index: int) -> AppId:
    return AppId(AppKind.CELL_APP, index, 1)


def apps(count: int) -> list[AppId]:
    return [app(index) for index in range(count)]


def clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


@st.composite
def trees(draw: st.DrawFn) -> BspTree:
    """A tree that was built and then lived through splits, removals and moves, to the very edges."""
    tree = BspTree.build(BOUNDS, apps(draw(st.integers(1, 5))))
    for number in range(draw(st.integers(0, 8))):
        tree = one_change(draw, tree, app(100 + number))
    return tree


def one_change(draw: st.DrawFn, tree: BspTree, newcomer: AppId) -> BspTree:
    leaf = draw(st.sampled_from(tree.leaves()))
    nodes = list(tree.nodes())
    acts = ["split"] + (["remove", "move"] if nodes else [])
    act = draw(st.sampled_from(acts))
    if act == "remove":
        return tree.remove(leaf)
    if act == "move":
        path, node, rect = draw(st.sampled_from(nodes))
        return tree.move_border(path, clamp(draw(PLACES), *rect.range_of(node.axis)))
    axis = draw(st.sampled_from(Axis))
    position = clamp(draw(PLACES), *tree.rect_of(leaf).range_of(axis))
    return tree.split(leaf, axis, position, newcomer, is_near=draw(st.booleans()))


# A partition, whatever happened.


@given(trees())
def test_every_point_is_in_exactly_one_leaf(tree):
    for x, z in POINTS:
        [leaf] = [leaf for leaf in tree.leaves() if tree.rect_of(leaf).contains(x, z)]
        assert tree.leaf_at(x, z) == leaf


@given(trees())
def test_leaves_do_not_overlap(tree):
    rects = [tree.rect_of(leaf) for leaf in tree.leaves()]
    assert not [(a, b) for i, a in enumerate(rects) for b in rects[:i] if a.intersects(b)]


@given(trees(), st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_there_is_no_way_out_of_the_plane(tree, x, z):
    assert tree.rect_of(tree.leaf_at(x, z)).contains(x, z)


@given(trees(), PLACES, PLACES, st.integers(0, 6))
def test_rectangle_touches_the_leaves_with_a_common_point(tree, x, z, radius):
    square = Rect.around(x, z, radius)

    def has_common_point(rect: Rect) -> bool:
        nearest = max(square.x0, rect.x0), max(square.z0, rect.z0)  # both have no lower one
        return nearest[0] <= square.x1 and nearest[1] <= square.z1 and rect.contains(*nearest)

    assert tree.leaves_touching(square) == [leaf for leaf in tree.leaves() if has_common_point(tree.rect_of(leaf))]


@given(trees(), PLACES, PLACES)
def test_a_point_touches_the_leaf_it_is_in(tree, x, z):
    assert tree.leaves_touching(Rect(x, z, x, z)) == [tree.leaf_at(x, z)]


@given(trees())
def test_pack_and_unpack(tree):
    again = BspTree.unpack(tree.pack())
    assert again == tree
    assert hash(again) == hash(tree)
    assert again.leaves() == tree.leaves()
    assert [again.rect_of(leaf) for leaf in again.leaves()] == [tree.rect_of(leaf) for leaf in tree.leaves()]
    assert isinstance(again.leaves()[0].app, AppId)


@given(trees())
def test_each_app_finds_its_leaf(tree):
    for leaf in tree.leaves():
        assert tree.leaf_of(leaf.app) == leaf
    assert tree.leaf_of(app(999)) is None


# Building.


@given(st.integers(1, 40), st.tuples(st.integers(1, 500), st.integers(1, 500)))
def test_built_tree_gives_each_app_the_same_area(count, size):
    bounds = Rect(-100, 20, -100 + size[0], 20 + size[1])
    tree = BspTree.build(bounds, apps(count))
    inside = [tree.rect_of(leaf).clip(bounds) for leaf in tree.leaves()]
    assert [leaf.app for leaf in tree.leaves()] == apps(count)
    for rect in inside:
        assert rect.width * rect.depth == pytest.approx(size[0] * size[1] / count)


@pytest.mark.parametrize(("bounds", "first"), [((0, 0, 9, 8), Axis.X), ((0, 0, 8, 9), Axis.Z), ((0, 0, 8, 8), Axis.X)])
def test_the_first_border_cuts_the_longer_side_and_then_they_alternate(bounds, first):
    for path, node, _ in BspTree.build(bounds, apps(8)).nodes():
        assert node.axis is (first if len(path) % 2 == 0 else first.other)


def test_four_apps_get_the_four_quarters():
    tree = BspTree.build((-200, -200, 200, 200), apps(4))
    assert [tree.leaf_at(*point).app.index for point in [(-1, -1), (-1, 0), (0, -1), (0, 0)]] == [0, 1, 2, 3]
    assert tree.rect_of(tree.leaf_at(5, 5)) == Rect(0, 0, inf, inf)
    assert [leaf.app.index for leaf in tree.leaves_touching(Rect.around(50, 50, 100))] == [0, 1, 2, 3]
    assert [leaf.app.index for leaf in tree.leaves_touching(Rect.around(50, 150, 100))] == [1, 3]
    assert [leaf.app.index for leaf in tree.leaves_touching(Rect.around(5000, 5000, 100))] == [3]


def test_nothing_to_build_from():
    with pytest.raises(UsageError, match="at least one CellApp"):
        BspTree.build(BOUNDS, [])
    with pytest.raises(UsageError, match="at most one cell"):
        BspTree.build(BOUNDS, [app(1), app(1)])
    with pytest.raises(UsageError, match="no CellApp"):
        BspTree.build(BOUNDS, [AppId(AppKind.BASE_APP, 1, 1)])
    with pytest.raises(UsageError, match="no area"):
        BspTree.build((0, 0, 0, 0), apps(1))


# Borders move.


def test_a_moved_border_changes_both_sides_and_not_the_old_tree():
    tree = BspTree.build(BOUNDS, apps(2))
    moved = tree.move_border((), 5)
    assert [moved.rect_of(leaf).range_of(Axis.X) for leaf in moved.leaves()] == [(-inf, 5), (5, inf)]
    assert [tree.rect_of(leaf).range_of(Axis.X) for leaf in tree.leaves()] == [(-inf, 0), (0, inf)]
    assert moved.leaves() == tree.leaves()


def test_a_border_pushes_those_below_it_along():
    tree = BspTree.build(BOUNDS, apps(2))
    tree = tree.split(tree.leaves()[1], Axis.X, 4, app(2))
    squeezed = tree.move_border((), 6)
    assert [squeezed.rect_of(leaf).range_of(Axis.X) for leaf in squeezed.leaves()] == [(-inf, 6), (6, 6), (6, inf)]
    assert squeezed.leaf_at(6, 0).app == app(2)
    assert [leaf.app for leaf in squeezed.leaves_touching(Rect.around(6, 0, 1))] == [app(0), app(2)]


def test_a_border_stays_within_its_node():
    tree = BspTree.build(BOUNDS, apps(2))
    tree = tree.split(tree.leaves()[1], Axis.X, 4, app(2))
    with pytest.raises(UsageError, match=r"x = -1\.0 is not within 0\.0 … inf"):
        tree.move_border((1,), -1)
    for path, nowhere in (((), nan), ((1,), -inf)):
        with pytest.raises(UsageError, match="not within"):
            tree.move_border(path, nowhere)


def test_only_borders_can_be_moved():
    tree = BspTree.build(BOUNDS, apps(2))
    with pytest.raises(UsageError, match="only a border"):
        tree.move_border((0,), 1)
    with pytest.raises(UsageError, match="goes on below cell 1"):
        tree.move_border((0, 1), 1)


# Cells are born and end.


def test_new_cell_at_the_end_of_the_world_has_no_area():
    tree = BspTree.build(BOUNDS, apps(1))
    [old] = tree.leaves()
    for position, is_near in ((inf, False), (-inf, True)):
        born = tree.split(old, Axis.X, position, app(1), is_near=is_near)
        leaf = born.leaf_of(app(1))
        assert leaf is not None
        assert born.rect_of(leaf).is_empty
        assert born.rect_of(leaf).clip(born.bounds).is_empty
        assert born.leaf_at(1e30, 0) == born.leaf_at(-1e30, 0) == old
        assert born.leaves_touching(PLANE) == [old]
        assert BspTree.unpack(born.pack()) == born
        grown = born.move_border(born.path_of(leaf)[:-1], 2)
        assert grown.leaf_at(1 if is_near else 2, 0) == leaf
        assert grown.leaf_at(2 if is_near else 1, 0) == old


def test_a_path_leads_to_its_leaf():
    tree = BspTree.build(BOUNDS, apps(5))
    for leaf in tree.leaves():
        branch = tree.root
        for step in tree.path_of(leaf):
            assert isinstance(branch, Node)
            branch = branch.right if step else branch.left
        assert branch == leaf


def test_a_split_gives_the_far_side_away():
    tree = BspTree.build(BOUNDS, apps(1))
    [old] = tree.leaves()
    split = tree.split(old, Axis.Z, 3, app(1))
    assert split.leaf_at(0, 2.9) == old
    assert split.leaf_at(0, 3) == Leaf(CellId(2), app(1))
    near = tree.split(old, Axis.Z, 3, app(1), is_near=True)
    assert near.leaf_at(0, 3) == old


def test_a_cell_can_be_born_without_area_and_grow():
    tree = BspTree.build(BOUNDS, apps(2))
    left = tree.leaves()[0]
    born = tree.split(left, Axis.X, 0, app(2))
    assert born.rect_of(born.leaves()[1]).is_empty
    assert {born.leaf_at(x, z) for x, z in POINTS} == set(tree.leaves())
    grown = born.move_border((0,), -2)
    assert grown.leaf_at(-1, 0).app == app(2)


def test_a_border_outside_the_leaf_cannot_split_it():
    tree = BspTree.build(BOUNDS, apps(2))
    with pytest.raises(UsageError, match="not within"):
        tree.split(tree.leaves()[0], Axis.X, 1, app(2))


def test_an_app_with_a_cell_gets_no_second():
    tree = BspTree.build(BOUNDS, apps(2))
    with pytest.raises(UsageError, match="at most one cell"):
        tree.split(tree.leaves()[0], Axis.Z, 1, app(1))


def test_the_other_side_takes_all_when_a_cell_ends():
    tree = BspTree.build(BOUNDS, apps(4))
    removed = tree.remove(tree.leaves()[0])
    assert removed.leaf_at(-1, -1).app == app(1)
    assert [leaf.app for leaf in removed.leaves()] == [app(1), app(2), app(3)]
    whole_side_gone = removed.remove(removed.leaves()[0])
    assert [leaf.app for leaf in whole_side_gone.leaves()] == [app(2), app(3)]
    assert whole_side_gone.leaf_at(-1, -1).app == app(2)


def test_a_number_is_never_given_again():
    tree = BspTree.build(BOUNDS, apps(2))
    tree = tree.remove(tree.leaves()[1])
    tree = BspTree.unpack(tree.pack()).split(tree.leaves()[0], Axis.X, 0, app(1))
    assert [leaf.cell for leaf in tree.leaves()] == [1, 3]


def test_the_last_cell_stays():
    tree = BspTree.build(BOUNDS, apps(1))
    with pytest.raises(UsageError, match="at least one cell"):
        tree.remove(tree.leaves()[0])


def test_a_leaf_of_another_tree_is_refused():
    tree = BspTree.build(BOUNDS, apps(2))
    for stranger in (Leaf(CellId(7), app(7)), Leaf(CellId(1), app(1))):
        with pytest.raises(UsageError, match="not in this tree"):
            tree.remove(stranger)


def test_a_chain_has_an_end():
    tree = BspTree.build(BOUNDS, apps(1))
    for number in range(1, DEPTH_MAX + 1):
        tree = tree.split(tree.leaves()[-1], Axis.X, number, app(number))
    with pytest.raises(UsageError, match=f"more than {DEPTH_MAX} borders"):
        tree.split(tree.leaves()[-1], Axis.X, 1000, app(1000))
    assert BspTree.unpack(tree.pack()) == tree


# Bytes that are no tree.


def packed(root: object, *, bounds: object = tuple(map(float, BOUNDS)), next_cell: object = 9) -> bytes:
    return msgspec.msgpack.encode((bounds, next_cell, root))


LEAF = [0, 1, [6, 0, 1]]
OTHER = [0, 2, [6, 1, 1]]


def nested(depth: int) -> bytes:
    """A tree of nothing but left sides."""
    beginning = packed(None).removesuffix(msgspec.msgpack.encode(None))
    return beginning + msgspec.msgpack.encode([1, 0, 0.0])[1:].join([b"\x95"] * (depth + 1))


def test_packed_bytes_are_as_documented():
    tree = BspTree(BOUNDS, Node(Axis.X, 0.0, Leaf(CellId(1), app(0)), Leaf(CellId(2), app(1))), CellId(9))
    assert BspTree.unpack(packed([1, 0, 0, LEAF, OTHER])) == tree
    assert tree.pack() == packed([1, 0, 0.0, LEAF, OTHER])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        packed(LEAF)[:-1],
        packed(LEAF) + b"\x00",
        packed([2, 1, [6, 0, 1]]),
        packed([0, 1, [4, 0, 1]]),
        packed([0, 1, [60, 0, 1]]),
        packed([0, 0, [6, 0, 1]]),
        packed([0, 9, [6, 0, 1]]),
        packed([0, -1, [6, 0, 1]]),
        packed(LEAF, bounds=[0, 0, 0, 0]),
        packed(LEAF, bounds=[0, 0, inf, 1]),
        packed(LEAF, bounds=[0, 0, 1]),
        packed([1, 0, nan, LEAF, OTHER]),
        packed([1, 0, 0, [1, 0, inf, LEAF, OTHER], [0, 3, [6, 2, 1]]]),
        packed([1, 2, 0, LEAF, OTHER]),
        packed([1, 0, 0, LEAF, LEAF]),
        packed([1, 0, 0, LEAF, [0, 2, [6, 0, 1]]]),
        packed([1, 0, 0, LEAF, [0, 1, [6, 1, 1]]]),
        packed([1, 0, 0, [1, 0, 1, LEAF, OTHER], [0, 3, [6, 2, 1]]]),
        packed([1, 0, 0, LEAF]),
        nested(200),
        nested(100_000),
    ],
    ids=lambda data: data[:48].hex(),
)
def test_bad_bytes_are_refused(data):
    with pytest.raises(DecodeError, match="not a tree of a space"):
        BspTree.unpack(data)


def test_a_whole_tree_that_is_too_deep_is_refused():
    root: object = [0, 1, [6, 1, 1]]
    for number in range(2, DEPTH_MAX + 3):
        root = [1, 0, 0, [0, number, [6, number, 1]], root]
    with pytest.raises(DecodeError, match="borders above one cell"):
        BspTree.unpack(packed(root, next_cell=1000))


@given(st.data())
def test_damaged_bytes_give_a_tree_or_an_error(data):
    sound = bytearray(data.draw(trees()).pack())
    for _ in range(data.draw(st.integers(1, 3))):
        sound[data.draw(st.integers(0, len(sound) - 1))] = data.draw(st.integers(0, 255))
    try:
        tree = BspTree.unpack(bytes(sound))
    except DecodeError:
        return
    for x, z in POINTS[::17]:
        assert tree.rect_of(tree.leaf_at(x, z)).contains(x, z)


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    with pytest.raises(DecodeError):
        BspTree.unpack(noise)
