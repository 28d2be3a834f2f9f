"""`terrazzo sim`: many small hostile worlds, judged by the promises.

    terrazzo sim channel --seed 1 --seeds 1000 --faults harsh
    terrazzo sim seamless --seeds 300 --coverage

Exit code 0 only if no promise broke, and something happened in every world. With --json one object on stdout:
`{"scenario", "seeds", "failures": [{"seed", "promise", "what"}], "events", "virtual_s"}`. Otherwise the first failures
are printed in full: the one command that repeats each, the faults that are enough for it, and a timeline. During the
run, a line is printed to stderr for each failure as soon as it is found.

With --coverage the command prints how often each transition of each state machine was taken (in JSON: "coverage", and
"untaken"). In a run of COVERED_SEEDS seeds or more, a transition that was never taken is a failure, too.
"""

from __future__ import annotations

import json
import sys

import click

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.errors import UsageError
from terrazzo.sim.coverage import summed, unreached, untaken
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.pool import run_many
from terrazzo.sim.runner import Order, Outcome, explain
from terrazzo.sim.scenario import build_scenario, scenario_names
from terrazzo.sim.world import FaultLevel, World

COVERED_SEEDS = 300
"""The number of worlds in which every transition should occur."""
_TOLD_MAX = 3
"""The number of failures that are printed in full; of the others only the command is printed."""


@click.command("sim")
@click.argument("scenario", type=click.Choice(scenario_names()))
@click.option("--seed", default=0, show_default=True, help="The first seed.")
@click.option("--seeds", default=100, show_default=True, type=click.IntRange(1), help="How many seeds.")
@click.option(
    "--duration",
    type=click.FloatRange(0, min_open=True),
    help="Virtual seconds of workload and faults; drawn from the seed if not given.",
)
@click.option(
    "--faults",
    type=click.Choice([level.value for level in FaultLevel]),
    default=FaultLevel.HARSH.value,
    show_default=True,
    help="How hostile the worlds are.",
)
@click.option("--mutation", help="Run a deliberately broken form instead; see terrazzo.sim.mutations.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes to use; all cores if not given. Changes nothing but the time."
)
@click.option("--coverage", is_flag=True, help="Print how often each transition of each state machine was taken.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def sim_command(
    scenario: str,
    seed: int,
    seeds: int,
    duration: float | None,
    faults: str,
    mutation: str | None,
    jobs: int | None,
    coverage: bool,
    as_json: bool,
) -> None:
    """Runs SCENARIO in many small hostile worlds and checks the promises."""
    level = FaultLevel(faults)
    try:
        mutation_of(mutation)
        build_scenario(scenario, World(seed, level), mutation)  # raises if these options do not go together
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    orders = [Order(scenario, number, level, duration, mutation) for number in range(seed, seed + seeds)]
    outcomes = []
    for outcome in run_many(orders, jobs, is_counted=coverage):
        outcomes.append(outcome)
        if outcome.failure is not None and seeds > 1:  # a long run prints a failure when it is found
            found = f"seed {outcome.order.seed}, {outcome.failure.promise}: {outcome.failure.what}"
            click.echo(f"{len(outcomes)} of {seeds} played. {found}", err=True)
    failed = [outcome for outcome in outcomes if outcome.failure is not None]
    counts = summed([outcome.paths for outcome in outcomes]) if coverage else {}
    if as_json:
        covered = {"coverage": counts, "untaken": untaken(counts)} if coverage else {}
        click.echo(json.dumps({**_summary(scenario, outcomes, failed), **covered}))
    else:
        _print_outcomes(scenario, outcomes, failed)
        _print_coverage(counts)
    is_covered = len(outcomes) < COVERED_SEEDS or not untaken(counts)
    sys.exit(0 if is_covered and not failed and all(outcome.events for outcome in outcomes) else 1)


def _summary(scenario: str, outcomes: list[Outcome], failed: list[Outcome]) -> dict[str, object]:
    return {
        "scenario": scenario,
        "seeds": len(outcomes),
        "failures": [
            {"seed": outcome.order.seed, "promise": outcome.failure.promise, "what": outcome.failure.what}
            for outcome in failed
            if outcome.failure is not None
        ],
        "events": sum(outcome.events for outcome in outcomes),
        "virtual_s": round(sum(outcome.virtual_s for outcome in outcomes), 3),
    }


def _print_outcomes(scenario: str, outcomes: list[Outcome], failed: list[Outcome]) -> None:
    for outcome in failed[:_TOLD_MAX]:
        click.echo(explain(outcome.order))
        click.echo()
    for outcome in failed[_TOLD_MAX:]:
        click.echo(outcome.order.command())
    events, virtual_s = sum(o.events for o in outcomes), sum(o.virtual_s for o in outcomes)
    verdict = f"{len(failed)} broke a promise" if failed else "every promise held"
    idle = sum(not outcome.events for outcome in outcomes)
    if idle:
        verdict += f", but in {idle} of them nothing happened, which proves nothing"
    click.echo(f"{scenario}: {len(outcomes)} seeds, {events} events, {virtual_s:.0f} virtual seconds: {verdict}")


def _print_coverage(counts: dict[str, dict[str, int]]) -> None:
    for machine, paths in counts.items():
        click.echo(f"\n{machine}")
        for path, count in paths.items():
            reason = unreached().get(f"{machine}: {path}")
            note = "" if count else f"   never: {reason}" if reason else "   NEVER TAKEN"
            click.echo(f"{count:>12,}  {path}{note}")


if __name__ == "__main__":
    sim_command()
