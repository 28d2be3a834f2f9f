"""How many clients fit: a search by runs, some of which are disturbed."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log

NEAR_ENOUGH = 0.03
RUNS_MAX = 10
DISTURBED = 1.5
"""A share beyond that is not only that of a disturbed run."""


def search(used: Callable[[int], float], first: int, *, runs_max: int = RUNS_MAX) -> int:
    """The largest number that fits, no more than NEAR_ENOUGH short of one that does not, and 0 if none has fit.

    `used` runs so many clients and gives the share of the time that they take: 1 and less fits. The machine's other
    processes make a run longer, never shorter. So a number that does not fit is run once more before it counts, and the
    lower share counts. A number that fits ends the search if it takes all but NEAR_ENOUGH of the time.
    """
    fits, too_many, guess = 0, inf, first
    shares: dict[float, float] = {}
    for _ in range(runs_max):
        is_again = guess in shares
        shares[guess] = share = min(used(guess), shares.get(guess, inf))
        if share <= 1:
            fits = max(fits, guess)
            if share >= 1 - NEAR_ENOUGH:
                break
        elif share < DISTURBED and not is_again:
            continue
        else:
            too_many = min(too_many, guess)
        if fits and too_many <= fits * (1 + NEAR_ENOUGH):
            break
        guess = max(round(_between(fits, too_many, shares, guess)), 1)
    return fits


def _between(fits: int, too_many: float, shares: dict[float, float], guess: int) -> float:
    """The next number to try: where the share would be just below 1, if it grew as it does between the two numbers; as
    long as only one is known, in proportion."""
    aim = 1 - NEAR_ENOUGH / 2
    if fits and too_many < inf and shares[too_many] > shares[fits]:
        power = log(shares[too_many] / shares[fits]) / log(too_many / fits)
        found = fits * (aim / shares[fits]) ** (1 / power)
    else:
        found = guess / shares[guess] * aim
    return found if fits < found < too_many else (fits + min(too_many, 2 * guess)) / 2
