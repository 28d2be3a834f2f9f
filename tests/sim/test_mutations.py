"""Every mutation is caught by the promise that it breaks, in a world that is sound without it."""

from __future__ import annotations

from collections import Counter

import pytest

from terrazzo.sim import mutations
from terrazzo.sim.mutations import MUTATIONS
from tests.sim.mutation_table import ROWS, SHAPED, by_world, hints, is_caught


@pytest.mark.judges
@pytest.mark.parametrize("name", by_world())
def test_mutation_breaks_its_promise_in_the_world_of_its_hint(name):
    seed, duration_s = hints()[name]
    assert is_caught(name, seed, duration_s), f"{name} is not caught in world {seed}: refresh the hint (make hints)"


def test_no_two_mutations_have_one_name():
    tables = [table for name, table in vars(mutations).items() if name.endswith("_MUTATIONS")]
    names = Counter(name for table in tables for name in table)
    assert len(tables) > 10
    assert [name for name, count in names.items() if count > 1] == []


def test_every_mutation_has_a_row_or_a_shaped_world():
    assert MUTATIONS.keys() == ROWS.keys() | SHAPED, "a mutation that no test catches"
    assert hints().keys() == ROWS.keys()
