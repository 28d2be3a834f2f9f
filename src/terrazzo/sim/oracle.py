"""The judge of a run: the first promise that breaks ends the run.

An oracle is outside of the world and has the truth: what was really sent, delivered, moved, destroyed. Scenarios call
its checks as things happen, and again at rest. `Broken` names the promise (docs/guarantees.md), describes what
happened, and names the things that a reader wants the timeline of.
"""

from __future__ import annotations


class Broken(AssertionError):
    """A promise did not hold. An AssertionError, since an app confines any other exception to the entity concerned."""

    def __init__(self, promise: str, what: str, *about: object) -> None:
        self.promise = promise
        self.what = what
        self.about = tuple(str(thing) for thing in about)
        super().__init__(f"{promise}: {what}")


def check(holds: bool, promise: str, what: str, *about: object) -> None:
    """Raises Broken unless it holds."""
    if not holds:
        raise Broken(promise, what, *about)
