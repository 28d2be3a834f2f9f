"""Liveness: each kind of problem has a bound of its own; allowed skips hold for one ghost, one client, some numbers."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from terrazzo.cell.core import history
from terrazzo.sim.liveness import Bound, Liveness, Problem
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless import history_gaps
from terrazzo.sim.scenarios.seamless.allowed_skips import AllowedSkips
from terrazzo.sim.scenarios.seamless.entity_story import Span
from terrazzo.sim.scenarios.seamless.history_gaps import Catching, Gap, Gaps, Lack
from terrazzo.sim.scenarios.seamless.liveness_bounds import BOUNDS, table
from terrazzo.sim.scenarios.sync.client_progress import ClientProgress, Manner, Wrong


class Kind(Enum):
    FIRST = 1
    SECOND = 2


def judged(*moments: tuple[float, tuple[Kind, ...]], begun_at: float = 0.0) -> Liveness:
    rest = Liveness({Kind.FIRST: Bound(5.0, ""), Kind.SECOND: Bound(2.0, "", (Kind.FIRST,))})
    for now, kinds in moments:
        rest.judge(now, begun_at, [Problem(kind, f"{kind} is under way") for kind in kinds])
    return rest


def test_rest_names_what_is_under_way_until_nothing_is():
    rest = judged()
    unrest = rest.judge(1.0, 0.0, [Problem(Kind.FIRST, "a copy is kept", (7,))])
    assert unrest is not None
    assert (unrest.what, unrest.about) == ("a copy is kept", (7,))
    assert rest.judge(2.0, 0.0, []) is None


def test_a_kind_that_lasts_longer_than_its_own_bound_breaks_liveness():
    judged((1.0, (Kind.FIRST,)), (5.0, (Kind.FIRST,)))
    with pytest.raises(Broken, match=r"5\.5 s of peace, 5\.0 s at most") as caught:
        judged((1.0, (Kind.FIRST,)), (5.5, (Kind.FIRST,)))
    assert caught.value.promise == "liveness"


def test_an_overdue_kind_is_found_behind_one_that_may_last_longer():
    with pytest.raises(Broken, match="SECOND"):
        judged((0.0, ()), (2.5, (Kind.SECOND,)), (2.6, (Kind.SECOND,)))


def test_the_time_of_a_kind_begins_anew_when_it_was_clean():
    judged((4.0, (Kind.FIRST,)), (4.5, ()), (9.0, (Kind.FIRST,)))


def test_the_time_of_a_kind_begins_when_what_it_stands_on_is_at_rest():
    judged((4.0, (Kind.FIRST, Kind.SECOND)), (4.5, (Kind.FIRST, Kind.SECOND)), (6.0, (Kind.SECOND,)))
    with pytest.raises(Broken):
        judged((4.5, (Kind.FIRST, Kind.SECOND)), (7.0, (Kind.SECOND,)))


def test_the_time_of_a_kind_begins_with_the_last_birth():
    judged((9.0, (Kind.FIRST,)), begun_at=5.0)


def test_no_bound_is_as_long_as_a_run_may_last():
    assert all(bound.within_s < 60.0 and bound.derivation for bound in BOUNDS.values())


def test_the_documented_table_is_the_one_that_is_judged_by():
    text = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text()
    assert [row for row in table() if row not in text] == []


# Excuses.


class Counting:
    """As much of a CellApp's core as is watched."""

    def count(self, what: str, /, **facts: object) -> None: ...


class CountingApp:
    """As much of a CellApp as is watched."""

    def __init__(self) -> None:
        self.core = Counting()


def app_that_counts() -> Any:
    return CountingApp()


def test_a_skip_is_excused_once_for_the_ghost_that_was_mended():
    allowed_skips, app = AllowedSkips(), app_that_counts()
    allowed_skips.watch(app)
    app.core.count("snapshot asked for", entity=7)
    assert allowed_skips.take(app, 7)
    assert not allowed_skips.take(app, 7)


def test_a_skip_is_not_excused_by_another_entity_or_another_app():
    allowed_skips, app, other = AllowedSkips(), app_that_counts(), app_that_counts()
    for each in (app, other):
        allowed_skips.watch(each)
    app.core.count("gap passed over", entity=7)
    app.core.count("offload refused", entity=8)
    assert not allowed_skips.take(app, 8)
    assert not allowed_skips.take(other, 7)
    assert allowed_skips.used == 0


# Gaps.

FACTS: list[Any] = [("hp", b"1"), ("said", 1), ("hp", b"2"), ("said", 2), ("bag", b"3"), ("said", 3)]


def track() -> Any:
    places = {fact: at + 1 for at, fact in enumerate(FACTS)}

    def follow(at: Span, fact: Any) -> Span | None:
        return Span(at.low + 1, at.low + 1) if at.low < len(FACTS) and FACTS[at.low] == fact else None

    def due(at: Span) -> Any:
        return FACTS[at.low] if at.low < len(FACTS) else None

    return SimpleNamespace(facts=FACTS, place=places.get, follow=follow, due=due)


def test_client_gets_the_latest_of_a_gap_and_goes_on_behind_it():
    catching, gap = Catching(), [Span(1, 5)]
    at = catching.follow(track(), Span(1, 1), gap, ("bag", b"3"))
    assert at == Span(5, 5)
    assert catching.due(track(), at, gap) == ("hp", b"2"), "it has not got all that has changed"
    assert catching.follow(track(), at, gap, ("said", 3)) is None, "something is due before"
    assert catching.follow(track(), at, gap, ("hp", b"2")) == at
    assert catching.due(track(), at, gap) == ("said", 3)


def test_a_client_is_not_excused_outside_of_its_gap():
    assert Catching().follow(track(), Span(0, 0), [Span(1, 3)], ("hp", b"2")) is None, "before it"
    assert Catching().follow(track(), Span(1, 1), [Span(1, 3)], ("bag", b"3")) is None, "behind it"
    assert Catching().follow(track(), Span(1, 1), [], ("hp", b"2")) is None


def test_gaps_are_kept_by_client_and_entity():
    gaps = Gaps()
    gaps.note(1, 7, 10, 20)
    story: Any = SimpleNamespace(entity=7, marks={10: 1, 20: 5})
    assert gaps.spans(1, story) == [Span(1, 5)]
    assert gaps.spans(2, story) == []
    assert gaps.spans(1, SimpleNamespace(entity=8, marks=story.marks)) == []  # type: ignore[arg-type]


def test_gap_ends_where_the_client_was_caught_up_and_not_where_a_cell_before_had_the_entity():
    gaps = Gaps()
    sent = {7: 31}
    sight: Any = SimpleNamespace(entities=lambda: [7], sent=sent.get, flags=lambda entity: 0 if entity in sent else -1)
    witness: Any = SimpleNamespace(sent=SimpleNamespace(sight=sight))
    ahead: Any = SimpleNamespace(number=76, history=SimpleNamespace(floor=39))
    behind: Any = SimpleNamespace(number=69, history=SimpleNamespace(floor=37))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_gaps, "witness_of", lambda real: witness)
        patch.setattr(history, "STEPS_MAX", 6)
        for body in (ahead, behind):
            real: Any = SimpleNamespace(body=SimpleNamespace(id=1, space=SimpleNamespace(bodies={7: body})))
            lacks = gaps.lacks(real)
            if body is behind:
                sent[7] = 69
            gaps.note_all(real, lacks)
        assert gaps.of(1, 7) == [Gap(31, 69)], "the cell that was ahead had no bytes to send"
        del sent[7]
        gaps.note_all(real, {7: Lack(69, 80)})
    assert gaps.of(1, 7) == [Gap(31, 69), Gap(69, 80)], "the last events before a leave"


def test_progress_excuses_only_facts_in_the_gap():
    story: Any = SimpleNamespace(others=None, marks={})

    def heard(*spans: Span) -> Wrong | None:
        progress = ClientProgress(story, track(), dict.fromkeys(("hp", "said", "bag"), Manner()), 1, 1)
        progress.excuse([*spans])
        return progress.hear(("bag", b"3"))

    assert heard() is Wrong.SKIPPED
    assert heard(Span(1, 3)) is Wrong.SKIPPED, "said 2 was not trimmed"
    assert heard(Span(1, 4)) is None
