"""docs/simulator.md has every scenario and every option of `terrazzo sim`."""

from __future__ import annotations

from pathlib import Path

import click

from terrazzo.cli.sim import sim_command
from terrazzo.sim.scenario import scenario_names
from tests.docs.test_settings_page import named, table

PAGE = (Path(__file__).parent.parent.parent / "docs" / "simulator.md").read_text()


def test_every_scenario_is_in_the_table():
    assert sorted(named([row[:1] for row in table(PAGE, "scenario")])) == scenario_names()


def test_every_option_is_in_the_table():
    listed = {word for words in named(table(PAGE, "option")) for word in words.split() if word.startswith("--")}
    assert listed == {name for each in sim_command.params if isinstance(each, click.Option) for name in each.opts}
