"""The apps' own invariants: a cluster never checks them, and each entity has its turn in the simulator."""

from __future__ import annotations

import subprocess
import sys

import pytest

from terrazzo.sim.mutations import MUTATIONS, mutation_of
from terrazzo.sim.oracle import Broken
from terrazzo.sim.validation import CHECKS, PROMISE, SHARES, check
from terrazzo.sim.validation_mutations import VALIDATION_MUTATIONS
from terrazzo.wire.ids import AppKind
from terrazzo.wire.invariants import ALL, Share
from tests.cell.land import Land

PROGRAM = """
import sys
import terrazzo.runtime.process, terrazzo.runtime.launcher, terrazzo.console.server
print([name for name in sys.modules if name.startswith("terrazzo.") and name.endswith(".validate")])
"""


def test_process_of_a_cluster_imports_no_invariants():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_kind_of_app_has_invariants():
    assert {kind.__name__.lower() for kind in CHECKS} == {
        kind.name.lower().replace("_", "") for kind in AppKind if kind is not AppKind.CONSOLE
    }


def test_each_entity_is_looked_at_in_one_of_the_shares():
    for entity in (1, 513, 2**31 - 1):
        assert sum(Share(turn, SHARES).has(entity) for turn in range(SHARES)) == 1
        assert ALL.has(entity)


def test_violation_names_the_entity_and_the_app():
    land = Land(1)
    land.create(7, 0.0)
    del land[0].reals[7]
    with pytest.raises(Broken, match=r"cell_app-0\.1: Avatar 7 in plain is a real that is not registered") as caught:
        check(land[0].me, land[0], ALL)
    assert (caught.value.promise, caught.value.about) == (PROMISE, ("7", "cell_app-0.1"))


def test_violation_is_found_in_the_share_of_its_entity_only():
    land = Land(1)
    land.create(7, 0.0)
    del land[0].reals[7]
    for turn in range(SHARES):
        if turn == 7 % SHARES:
            with pytest.raises(Broken):
                check(land[0].me, land[0], Share(turn, SHARES))
        else:
            check(land[0].me, land[0], Share(turn, SHARES))


def test_only_mutations_of_invariants_are_checked_so_that_others_test_the_judges_of_promises():
    checked = {name for name, each in MUTATIONS.items() if each.is_validated}
    assert checked == {*VALIDATION_MUTATIONS, "keep-claims", "forget-places"}
    assert mutation_of(None).is_validated
