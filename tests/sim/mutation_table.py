"""What each mutation breaks, and in which worlds that shows.

A row has the promise that must break; `hints.json` has a seed and a length of a world that shows it. The simulated
worlds change with every change of the simulator or of the messages, and hints go stale with them: `make hints` finds
new ones within SEEDS_MAX seeds and names each mutation that it cannot catch.
"""

from __future__ import annotations

import json
from functools import cache
from math import inf
from pathlib import Path
from typing import NamedTuple

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.sim.dart_mutations import DART_MUTATIONS
from terrazzo.sim.keeper_mutations import KEEPER_MUTATIONS
from terrazzo.sim.latency_mutations import LATENCY_MUTATIONS
from terrazzo.sim.login_mutations import LOGIN_MUTATIONS
from terrazzo.sim.maker_mutations import MAKER_MUTATIONS
from terrazzo.sim.mutations import MUTATIONS
from terrazzo.sim.party_mutations import PARTY_MUTATIONS
from terrazzo.sim.queue_mutations import QUEUE_MUTATIONS
from terrazzo.sim.runner import Failure, Order, run
from terrazzo.sim.sight_mutations import SHAPED as SHAPED_SIGHTS
from terrazzo.sim.sight_mutations import SIGHT_MUTATIONS
from terrazzo.sim.sync_mutations import SYNC_MUTATIONS
from terrazzo.sim.world import FaultLevel

SEEDS_MAX = 200
SHORT_S = 8.0
"""Worlds of this length are tried first."""
HINTS = Path(__file__).with_name("hints.json")
HARSH, NONE = FaultLevel.HARSH, FaultLevel.NONE


class Row(NamedTuple):
    """The promise that a mutation breaks, with words of the report."""

    promises: tuple[str, ...]
    level: FaultLevel = HARSH
    words: str = ""
    scenario: str = ""
    """Where another scenario than the mutation's own shows it."""

    def is_broken_by(self, failure: Failure | None) -> bool:
        """Whether a run has failed as it must."""
        return failure is not None and failure.promise in self.promises and self.words in failure.what


ANY = ("P1", "P2", "P3", "P4", "P5", "P7", "liveness")
P1, P2, P3, P4 = (("P1", "liveness"), ("P2", "liveness"), ("P3", "liveness"), ("P4", "liveness"))
P5, P7, REST = ("P5",), ("P7",), ("liveness",)

SHAPED = {"forget-left", "no-tombstone", "reuse-witness-number", "confirm-any", "snapshot-open-steps", *SHAPED_SIGHTS}
"""Too rare in drawn worlds: `test_shaped.py`, `test_shaped_clients.py`, `test_rare.py`, `test_sightings.py`,
`tests/cell/test_races_ghosts.py`."""

ROWS: dict[str, Row] = {
    **{name: Row(ANY) for name, each in MUTATIONS.items() if each.scenario in ("channel", "fight")},
    **{name: Row(ANY) for name in LOGIN_MUTATIONS},
    **{name: Row(("queue", "liveness")) for name in QUEUE_MUTATIONS},
    **dict.fromkeys(("forfeit-places", "keep-left"), Row(("queue",), NONE)),
    **{name: Row((*ANY, "names")) for name in MAKER_MUTATIONS},
    **{name: Row((*ANY, "names", "ends", "data")) for name in PARTY_MUTATIONS},
    "refuse-early-entries": Row(REST, NONE, "does not get into"),
    **{name: Row(ANY) for name in KEEPER_MUTATIONS},
    **{name: Row(("P1", "P2", "invariant", "liveness")) for name in DART_MUTATIONS},
    **{name: Row(P4, NONE) for name in SYNC_MUTATIONS},
    **{name: Row(("P2",), NONE, "in peace") for name in LATENCY_MUTATIONS},
    **{name: Row(("P4",), NONE, "does not see entity") for name in SIGHT_MUTATIONS if name not in SHAPED},
    **dict.fromkeys(
        ("keep-real", "lose-real", "land-twice", "die-alone", "jump-nowhere", "jump-elsewhere", "early-timers",
         "empty-at-once", "forget-timers", "forget-controllers", "forget-triggers", "forget-teleport"), Row(P1)),
    **dict.fromkeys(
        ("repeat-once", "repeat-once-moved", "restart-period", "drift-periods", "make-up-periods", "keep-former-timer",
         "bring-back-cancelled", "lose-chosen-timers", "arrive-again", "arrive-for-former", "keep-base-timers",
         "ring-base-once"), Row(("P1",))),
    **dict.fromkeys(("call-twice", "leave-channel-behind"), Row(P2)),
    **dict.fromkeys(("apply-early", "apply-twice", "miss-steps", "hide-ends", "trim-too-many"), Row(P3)),
    **dict.fromkeys(
        ("double-leave", "never-leave", "stutter", "reuse-alias-at-once", "forget-seen", "send-too-little", "flicker",
         "see-less", "forget-past"), Row(P4)),
    **dict.fromkeys(
        ("no-snapshot", "keep-ghosts", "make-no-ghosts", "hide-next-real", "forget-epoch", "forget-ghost-apps",
         "put-nobody-back", "lose-refused"), Row((*P1, "P3", "P4"))),
    **dict.fromkeys(("forget-deficit", "forgive-debts", "count-budget-twice", "save-without-end"), Row(("P4",), NONE)),
    **dict.fromkeys(
        ("keep-witness", "go-on-with-story", "show-no-player", "tell-no-detaching", "send-no-detaching"),
        Row(("P4",), NONE)),
    "tell-of-no-loss": Row(P4, NONE),
    **dict.fromkeys(
        ("ignore-rates", "halve-rates", "forget-rates", "expose-to-all", "expose-unlisted", "forget-pace"), Row(P7)),
    **dict.fromkeys(("late-timers", "seek-seldom"), Row(("P1",), NONE)),
    "skip-forward": Row(("P2",), NONE, scenario="skeleton"),
    **dict.fromkeys(("confirm-early", "save-older"), Row(P5, words="is confirmed, and the database has")),
    "load-older": Row(P5, words="was loaded after"),
    **dict.fromkeys(
        ("hold-for-ever", "mend-slowly", "deaf-to-late-reals", "return-bare"), Row(REST, words="s at most")),
    "forget-loose": Row(REST, NONE),
    "fight-deaf-awaiting": Row(ANY, NONE),
    **{name: Row(("invariant",), words=words) for name, words in {
        "rest-used-alias": "and it rests",
        "give-alias-twice": "for entities",
        "await-nothing": "which is not here and not awaited",
        "describe-nothing": "and no update looks at it",
        "keep-all-copies": "is a real here, and a copy that left",
        "share-a-bit": "has two ghosts under one bit",
        "hold-what-follows": "and the step after that is held",
        "begin-an-epoch-behind": "and its mailbox is of version",
        "follow-itself": "is a ghost of this very app",
        "keep-sessions": "belongs to",
        "return-used-ids": "is in the stock of free ids",
        "unload-late": "counts as loaded, and has no base",
        "count-answers-as-asked": "count as asked for proxies",
        "believe-in-versions-to-come": "and the newest is",
        "keep-claims": "claims player",
        "forget-places": "that is not registered with the place of the peer",
    }.items()},
    "fight-keep-waiting": Row(("invariant",)),  # what waits for an entity that left goes on in its copy, which refuses
}  # fmt: skip


def order_of(name: str, seed: int, duration_s: float | None) -> Order:
    """A world with a mutation."""
    return Order(ROWS[name].scenario or MUTATIONS[name].scenario, seed, ROWS[name].level, duration_s, name)


@cache
def is_sound(scenario: str, seed: int, level: FaultLevel, duration_s: float | None) -> bool:
    """Whether a world without any mutation holds."""
    return run(Order(scenario, seed, level, duration_s)).failure is None


@cache
def hints() -> dict[str, tuple[int, float | None]]:
    """Seed and length by mutation."""
    found: dict[str, tuple[int, float | None]] = {
        name: (seed, duration_s) for name, (seed, duration_s) in json.loads(HINTS.read_text()).items()
    }
    return found


def by_world() -> list[str]:
    """All mutations, in the order of their worlds: a worker runs the sound form of a world once, for all of them."""

    def world_of(name: str) -> tuple[str, str, float, int]:
        seed, duration_s = hints().get(name, (0, None))
        order = order_of(name, seed, duration_s)
        return order.scenario, order.level.value, duration_s or inf, seed

    return sorted(ROWS, key=world_of)


def is_caught(name: str, seed: int, duration_s: float | None) -> bool:
    """Whether the mutation shows in this world, which is sound without it."""
    order = order_of(name, seed, duration_s)
    return ROWS[name].is_broken_by(run(order).failure) and is_sound(order.scenario, seed, order.level, duration_s)
