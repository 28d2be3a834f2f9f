"""The tree of a space: which CellApp runs which part of the plane.

A leaf is a cell; a node is a border, across one axis, with the nearer side on the left. The root is the whole plane
without end, so each point lies in exactly one leaf wherever it is; `bounds` is the size that the game has declared: it
is used to divide the space evenly, and to draw it.

    Node(X, 0)                                      z ▲
    ├── left   Node(Z, 50)                            │   2     ╷
    │          ├── left   Leaf(cell 1)           50 ──┼─────────┤     3
    │          └── right  Leaf(cell 2)                │   1     │
    └── right  Leaf(cell 3)                           ┼─────────┴──────────▶ x
                                                                0
A tree is never changed: each operation returns another one, and code that holds the old one may go on reading it. The
rules that each tree keeps, whether made here or read from bytes:

- a border lies within the range of its node, edges included, also those at the end of the world: a border at an edge
  makes a cell without area. Every new cell begins so: it holds no point, touches nothing, and grows as its border
  moves;
- a CellApp has at most one leaf; the number of a cell is never used again for another one;
- at most DEPTH_MAX borders lie above a leaf.

A node is named by its path from the root, a tuple of 0 (left) and 1 (right). Leaves always come in the same order, left
before right, so all processes with the same tree handle its leaves in the same order.

Packed, a tree is one msgpack value:

    tree   = [bounds, next cell, branch]
    branch = [0, cell, app]  |  [1, axis, position, left branch, right branch]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NewType

import msgspec

from terrazzo.errors import DecodeError, UsageError
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.world.rect import PLANE, Axis, Rect, checked_bounds

CellId = NewType("CellId", int)
Path = tuple[int, ...]

DEPTH_MAX = 40
"""Borders above a leaf. No sound division of a space needs more; bytes with a deeper tree are refused."""


class Leaf(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=0):
    """A cell, and the CellApp that runs it."""

    cell: CellId
    app: AppId


class Node(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1):
    """A border and its two sides."""

    axis: Axis
    position: float
    left: Node | Leaf
    right: Node | Leaf


Branch = Node | Leaf


class _Packed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    bounds: Rect
    next_cell: CellId
    root: Node | Leaf


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Packed)


class BspTree:
    """One version of the tree of a space; see the module."""

    __slots__ = ("_by_app", "_leaves", "_paths", "_rects", "bounds", "next_cell", "root")

    def __init__(self, bounds: Rect, root: Branch, next_cell: CellId) -> None:
        """Checks every rule: a tree that breaks one cannot be made."""
        self.bounds = checked_bounds(bounds)
        self.root = root
        self.next_cell = next_cell
        self._leaves: dict[CellId, Leaf] = {}
        self._rects: dict[CellId, Rect] = {}
        self._paths: dict[CellId, Path] = {}
        self._by_app: dict[AppId, Leaf] = {}
        for path, branch, rect in self._walk():
            if isinstance(branch, Leaf):
                self._add_leaf(branch, rect, path)
            else:
                _check_border(branch, rect)

    @classmethod
    def build(cls, bounds: tuple[float, float, float, float], apps: Sequence[AppId]) -> BspTree:
        """A tree that gives each app the same area of the bounds; the first border cuts the longer side, then they
        alternate."""
        rect = checked_bounds(bounds)
        if not apps:
            raise UsageError("a space needs at least one CellApp to run it")
        leaves = [Leaf(CellId(number), app) for number, app in enumerate(apps, 1)]
        axis = Axis.X if rect.width >= rect.depth else Axis.Z
        return cls(rect, _shared_out(rect, leaves, axis), CellId(len(apps) + 1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BspTree):
            return NotImplemented
        return (self.bounds, self.root, self.next_cell) == (other.bounds, other.root, other.next_cell)

    def __hash__(self) -> int:
        return hash((self.bounds, self.root, self.next_cell))

    def __repr__(self) -> str:
        return f"BspTree({self.bounds!r}, {self.root!r}, next_cell={self.next_cell})"

    # Looking.

    def leaf_at(self, x: float, z: float) -> Leaf:
        """The leaf that the point lies in."""
        branch = self.root
        while isinstance(branch, Node):
            at = x if branch.axis is Axis.X else z
            branch = branch.left if at < branch.position else branch.right
        return branch

    def leaf_of(self, app: AppId) -> Leaf | None:
        """The leaf that this CellApp runs, if any."""
        return self._by_app.get(app)

    def leaves(self) -> tuple[Leaf, ...]:
        """All leaves, in order."""
        return tuple(self._leaves.values())

    def path_of(self, leaf: Leaf) -> Path:
        """Where a leaf is; without its last step, the path of the border beside it."""
        if self._leaves.get(leaf.cell) != leaf:
            raise UsageError(f"cell {leaf.cell} of {leaf.app} is not in this tree; take the leaf from the newest one")
        return self._paths[leaf.cell]

    def rect_of(self, leaf: Leaf) -> Rect:
        """What a leaf covers; edges at the end of the world are infinite."""
        return self._rects[leaf.cell]

    def leaves_touching(self, rect: Rect) -> list[Leaf]:
        """The leaves that have a point in common with a rectangle, all its edges included, in order."""
        found: list[Leaf] = []
        branches = [self.root]
        while branches:
            branch = branches.pop()
            if isinstance(branch, Leaf):
                if not self._rects[branch.cell].is_empty:
                    found.append(branch)
                continue
            low, high = (rect.x0, rect.x1) if branch.axis is Axis.X else (rect.z0, rect.z1)
            if high >= branch.position:
                branches.append(branch.right)
            if low < branch.position:
                branches.append(branch.left)  # taken first
        return found

    def nodes(self) -> Iterator[tuple[Path, Node, Rect]]:
        """Every border with its path and the range of its node, from the root down."""
        for path, branch, rect in self._walk():
            if isinstance(branch, Node):
                yield path, branch, rect

    # Other trees.

    def move_border(self, path: Path, position: float) -> BspTree:
        """The tree with one border elsewhere. It stays within its node; borders further down that it passes are pushed
        along, which leaves the cells behind them without area."""

        def moved(branch: Branch, rect: Rect) -> Branch:
            if isinstance(branch, Leaf):
                raise UsageError(f"path {path} leads to cell {branch.cell}; only a border can be moved")
            border = msgspec.structs.replace(branch, position=float(position))
            _check_border(border, rect)
            return _fitted(border, rect)

        return self._with(self._changed(path, moved))

    def split(self, leaf: Leaf, axis: Axis, position: float, app: AppId, *, is_near: bool = False) -> BspTree:
        """The tree in which `app` has a new cell: what lies beyond a border through this leaf, or, if `is_near`, before
        it. A border at the leaf's edge gives a new cell without area, to grow by moving the border."""

        def halved(branch: Branch, _rect: Rect) -> Branch:
            born = Leaf(self.next_cell, app)
            near, far = (born, branch) if is_near else (branch, born)
            return Node(axis, float(position), near, far)

        root = self._changed(self.path_of(leaf), halved)
        return self._with(root, next_cell=CellId(self.next_cell + 1))

    def remove(self, leaf: Leaf) -> BspTree:
        """The tree without this leaf: the other side of its border takes all."""
        path = self.path_of(leaf)
        if not path:
            raise UsageError(f"cell {leaf.cell} is the last one; a space keeps at least one cell")

        def without(branch: Branch, _rect: Rect) -> Branch:
            assert isinstance(branch, Node)
            return branch.left if path[-1] else branch.right

        return self._with(self._changed(path[:-1], without))

    # Bytes.

    def pack(self) -> bytes:
        """For `unpack`."""
        return _ENCODER.encode(_Packed(self.bounds, self.next_cell, self.root))

    @classmethod
    def unpack(cls, data: bytes) -> BspTree:
        """The tree that was packed. Raises DecodeError for bytes that are no tree, or one that breaks a rule."""
        try:
            packed = _DECODER.decode(data)
            return cls(packed.bounds, packed.root, packed.next_cell)
        except (ValueError, RecursionError, UsageError) as error:
            raise DecodeError(f"not a tree of a space: {error}") from None

    # Within.

    def _walk(self) -> Iterator[tuple[Path, Branch, Rect]]:
        """Every branch from the root down, left before right."""
        branches: list[tuple[Path, Branch, Rect]] = [((), self.root, PLANE)]
        while branches:
            path, branch, rect = branches.pop()
            if len(path) > DEPTH_MAX:
                raise UsageError(f"more than {DEPTH_MAX} borders above one cell; remove cells before adding more there")
            yield path, branch, rect
            if isinstance(branch, Node):
                near, far = rect.cut(branch.axis, branch.position)
                branches.append(((*path, 1), branch.right, far))
                branches.append(((*path, 0), branch.left, near))

    def _add_leaf(self, leaf: Leaf, rect: Rect, path: Path) -> None:
        if leaf.app.kind is not AppKind.CELL_APP:
            raise UsageError(f"cell {leaf.cell} is given to {leaf.app}, which is no CellApp")
        if leaf.app in self._by_app:
            raise UsageError(f"{leaf.app} has two cells; a CellApp has at most one cell of a space")
        if leaf.cell in self._leaves or not 0 < leaf.cell < self.next_cell:
            raise UsageError(f"cell number {leaf.cell} is taken or was never given (the next is {self.next_cell})")
        self._leaves[leaf.cell] = self._by_app[leaf.app] = leaf
        self._rects[leaf.cell] = rect
        self._paths[leaf.cell] = path

    def _changed(self, path: Path, change: Callable[[Branch, Rect], Branch]) -> Branch:
        """The root in which `change` was done to the branch at `path`."""

        def descend(branch: Branch, rect: Rect, depth: int) -> Branch:
            if depth == len(path):
                return change(branch, rect)
            if isinstance(branch, Leaf):
                raise UsageError(f"path {path} goes on below cell {branch.cell}")
            near, far = rect.cut(branch.axis, branch.position)
            if path[depth]:
                return msgspec.structs.replace(branch, right=descend(branch.right, far, depth + 1))
            return msgspec.structs.replace(branch, left=descend(branch.left, near, depth + 1))

        return descend(self.root, PLANE, 0)

    def _with(self, root: Branch, *, next_cell: CellId | None = None) -> BspTree:
        return BspTree(self.bounds, root, next_cell or self.next_cell)


def _check_border(node: Node, rect: Rect) -> None:
    low, high = rect.range_of(node.axis)
    if not low <= node.position <= high:  # what is no number is not within anything
        raise UsageError(f"a border at {node.axis.name.lower()} = {node.position} is not within {low} … {high}")


def _fitted(branch: Branch, rect: Rect) -> Branch:
    """The branch with every border drawn into its node's range."""
    if isinstance(branch, Leaf):
        return branch
    low, high = rect.range_of(branch.axis)
    position = min(max(branch.position, low), high)
    near, far = rect.cut(branch.axis, position)
    return Node(branch.axis, position, _fitted(branch.left, near), _fitted(branch.right, far))


def _shared_out(rect: Rect, leaves: Sequence[Leaf], axis: Axis) -> Branch:
    """The rectangle in as many equal areas as there are leaves."""
    if len(leaves) == 1:
        return leaves[0]
    half = len(leaves) // 2
    low, high = rect.range_of(axis)
    position = low + (high - low) * half / len(leaves)
    near, far = rect.cut(axis, position)
    return Node(
        axis, position, _shared_out(near, leaves[:half], axis.other), _shared_out(far, leaves[half:], axis.other)
    )
