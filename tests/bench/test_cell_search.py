"""How `terrazzo bench cell` finds the number of clients that fit, though runs are disturbed; and what growth is."""

import pytest

from terrazzo.bench.cell_scale import growth
from terrazzo.bench.cell_search import NEAR_ENOUGH, RUNS_MAX, search


def searched(share, first=1500):
    runs = []

    def used(count):
        runs.append(count)
        return share(count, len(runs))

    return search(used, first), runs


@pytest.mark.parametrize("fits", [40, 700, 1500, 3000, 9000, 30_000])
def test_search_ends_near_what_fits(fits):
    found, runs = searched(lambda count, _: count / fits)
    assert fits * (1 - NEAR_ENOUGH) <= found <= fits
    assert len(runs) <= 4


@pytest.mark.parametrize("fits", [700, 3000, 9000])
def test_a_time_that_grows_faster_than_the_clients_is_found_too(fits):
    found, runs = searched(lambda count, _: (count / fits) ** 1.6)
    assert fits * (1 - NEAR_ENOUGH) <= found <= fits
    assert len(runs) <= RUNS_MAX


@pytest.mark.parametrize("disturbed", range(1, 6))
def test_one_disturbed_run_does_not_end_the_search_early(disturbed):
    """A run that is disturbed takes a quarter longer than it should."""
    found, _ = searched(lambda count, run: count / 3000 * (1.25 if run == disturbed else 1.0))
    assert 3000 * (1 - 2 * NEAR_ENOUGH) <= found <= 3000


def test_of_the_first_guess_too_large_half_is_tried():
    found, _ = searched(lambda count, _: count / 100)
    assert 97 <= found <= 100


def test_where_nothing_fits_the_search_ends():
    found, runs = searched(lambda count, _: 5.0)
    assert found == 0
    assert len(runs) <= RUNS_MAX


def test_growth_is_that_of_the_worst_step():
    def line(around, cost):
        return {"around": around, "microseconds_per_client": cost}

    assert growth([line(20, 4.0), line(60, 12.0)]) == pytest.approx(1.0)
    assert growth([line(20, 4.0), line(60, 8.0), line(120, 24.0)]) == pytest.approx(1.5)
