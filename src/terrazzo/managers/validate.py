"""The invariants of the two managers, as they hold between two events.

CellAppMgr, for each space:

    each leaf of the tree       is of a CellApp that is known and a member; no CellApp has two; no two have one number
    the data                    has no item of a version that does not exist
    each member                 uses no version that does not exist
    retiring, leaving           are members without a leaf, and never both
    the newborn cell            is in the tree
    a space that ends           is an instance; each member is retiring or leaving

BaseAppMgr: a BaseApp is not asked for more proxies than there are placements that wait for an answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.cellapp_mgr import CellAppMgr, ManagerState
from terrazzo.managers.spaces import SpaceState
from terrazzo.wire.invariants import BrokenInvariant, Share, Violations


def cellapp_mgr_violations(manager: CellAppMgr, share: Share) -> Violations:
    """The invariants of this CellAppMgr that do not hold."""
    for space in manager.spaces:
        if share.has(space.id):
            for what in _space(manager, space):
                yield BrokenInvariant(0, f"space {space.policy.name!r} {what}")


def _space(manager: CellAppMgr, space: SpaceState) -> Iterator[str]:
    if any(not 0 < item.version <= space.data_version for item in space.data.values()):
        yield f"has data of a version beyond {space.data_version}"
    if space.is_ended:
        if not space.is_instance or space.tree is not None or not space.members:
            yield "ends, and is no instance, or has a tree, or should be forgotten"
        if any((app in space.retiring) is (app in space.leaving) for app in space.members):
            yield "ends, and has a member that neither leaves it nor has left"
        return
    if space.tree is None:
        if manager.state is ManagerState.READY or space.members:
            yield "has no tree"
        return
    leaves = list(space.tree.leaves())
    apps = {leaf.app for leaf in leaves}
    if len(apps) != len(leaves) or len({leaf.cell for leaf in leaves}) != len(leaves):
        yield "has two cells of one CellApp or of one number"
    for app in apps:
        if app not in space.members or not manager.has_joined(app):
            yield f"has a cell of {app}, which is no member or not known"
    for app, version in space.members.items():
        if version > space.version:
            yield f"is used by {app} in version {version}, and the newest is {space.version}"
    for app in (*space.retiring, *space.leaving):
        if app not in space.members or app in apps or (app in space.retiring and app in space.leaving):
            yield f"is left by {app}, which is no member, or has a cell still"
    if space.newborn is not None and space.newborn.app not in apps:
        yield f"waits for the new cell of {space.newborn.app}, which is not in the tree"


def baseapp_mgr_violations(manager: BaseAppMgr, share: Share) -> Violations:
    """The invariants of this BaseAppMgr that do not hold."""
    if not share.is_first:
        return
    asked = manager.asked_by_app()
    waiting = manager.unanswered
    if sum(asked.values()) > waiting or any(count < 0 for count in asked.values()):
        counts = ", ".join(f"{app}: {count}" for app, count in asked.items())
        yield BrokenInvariant(0, f"the BaseApps count as asked for proxies ({counts}), and {waiting} placements wait")
