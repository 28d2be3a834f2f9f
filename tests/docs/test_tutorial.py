"""docs/tutorial.md is true: its files are taken out of the page as they stand after each step, checked, and played."""

import math
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from terrazzo.errors import DefinitionError
from terrazzo.game import load_game
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.world import World
from terrazzo.sync.view_events import MethodCalled

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "tutorial.md").read_text()
FILE = re.compile(r"^File: `(garden/\w+\.py)`\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXCERPT = re.compile(r"^From `(examples/plaza/\w+\.py)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEPS = re.split(r"^(?=## \d\. )", TEXT, flags=re.MULTILINE)[1:]
LAST = len(STEPS)
PLAYABLE = range(2, LAST + 1)
"""The steps after which there is a game to run."""


def write_game(folder, step=LAST, *, changes=()):
    """The game as it stands at the end of a step, with (file, old, new) changes that must each be possible."""
    files = dict(match for text in STEPS[:step] for match in FILE.findall(text))
    for path, old, new in changes:
        assert files[path].count(old) == 1, f"{path} has not one {old!r}"
        files[path] = files[path].replace(old, new)
    (folder / "garden").mkdir(exist_ok=True)
    for path, content in files.items():
        (folder / path).write_text(content)
    return folder / "garden"


def check(path):
    return CliRunner().invoke(main, ["check", str(path)])


class Garden:
    """The game in a simulated cluster, and one player at a time in it."""

    def __init__(self, path, *, cells=2):
        self.world = World(seed=1)
        self.errors = []
        self.world.on_log = self._on_log
        self.cluster = Cluster(self.world, load_game(path), cells=cells, bases=1)
        self.heard = []
        self.wait(5.0)

    def _on_log(self, process, event, facts):
        if event == "game error":
            self.errors.append(facts)

    def wait(self, seconds):
        self.world.clock.run_until(self.world.clock.now + seconds)

    def join(self, name):
        self.app = self.cluster.client(name, "secret", listener=self._listen).app
        self.wait(5.0)
        assert self.app.has_body, self.app.error
        return self.player

    def leave(self):
        self.app.leave(self.world.clock.now)
        self.wait(5.0)

    def _listen(self, event):
        if isinstance(event, MethodCalled):
            self.heard.append((event.method.name, *event.args))

    def walk(self, x, z):
        for _ in range(200):
            here_x, _, here_z = self.player.position
            away = math.hypot(x - here_x, z - here_z)
            share = min(1.0, 1.0 / away) if away else 1.0
            self.app.move((here_x + (x - here_x) * share, 0.0, here_z + (z - here_z) * share))
            self.wait(0.1)
            if away == 0.0:
                break
        self.wait(1.0)
        assert self.player.position == (x, 0.0, z)

    def do(self, call, *args, seconds=1.0):
        assert getattr(self.player.cell, call)(*args)
        self.wait(seconds)

    @property
    def player(self):
        """What the client has of its own entity."""
        assert self.app.player is not None
        return self.app.player

    def seen(self, kind):
        return [part for part in self.app.parts.values() if type(part).__name__ == f"{kind}Client"]

    def real_of(self, entity):
        """The rectangle of the one cell where an entity is real."""
        [cell] = [
            space.rect
            for app in self.cluster.cell_apps
            for space in app.spaces.values()
            if entity in app.bodies and app.bodies[entity].real is not None
        ]
        return cell

    def ghosts(self):
        return sum(body.real is None for app in self.cluster.cell_apps for body in app.bodies.values())


# The files.


def test_the_page_has_its_steps():
    assert [int(text[3]) for text in STEPS] == list(range(1, 10))
    listings = TEXT.count("```python")
    named = sum(len(FILE.findall(text)) + len(EXCERPT.findall(text)) for text in STEPS)
    assert listings == named, "a listing has no line that names its file"


def test_what_is_quoted_of_the_plaza_is_there():
    quoted = EXCERPT.findall(TEXT)
    assert len(quoted) == 5
    for path, listing in quoted:
        assert listing in (ROOT / path).read_text(), f"{path} has no\n{listing}"


@pytest.mark.parametrize("step", PLAYABLE)
def test_each_step_is_without_errors_and_warnings(step, tmp_path):
    result = check(write_game(tmp_path, step))
    assert (result.exit_code, result.output.startswith("0 errors, 0 warnings")) == (0, True), result.output


def test_output_of_check_in_the_first_steps_is_in_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_game(tmp_path, 1)
    assert check("garden").output in STEPS[0]
    assert check(write_game(tmp_path, 2)).output in STEPS[1]


@pytest.mark.parametrize("step", PLAYABLE)
def test_each_step_is_a_game_that_gives_a_player_a_body(step, tmp_path):
    garden = Garden(write_game(tmp_path, step))
    assert garden.join("Ann").name == "Ann"
    assert garden.player.position == (-20.0, 0.0, -20.0)
    assert garden.errors == []


# Statements of the page about the game.


def test_talk(tmp_path):
    garden = Garden(write_game(tmp_path, 3))
    garden.join("Ann")
    garden.do("say", " hello ")
    assert garden.heard == [("on_said", "hello")]


def test_plant_water_pick(tmp_path):
    garden = Garden(write_game(tmp_path, 4))
    garden.join("Ann")
    garden.do("say", "/plant")
    garden.walk(-10.0, -12.0)
    garden.do("pick_up")
    garden.do("say", "/plant")
    garden.do("say", "/plant")
    garden.do("say", "/water", seconds=10.0)
    assert [bed.name for bed in garden.seen("Bed") if bed.stage] == ["a flower"]
    garden.wait(10.0)
    garden.do("pick_up")
    garden.do("pick_up")
    assert garden.heard == [
        ("on_told", "There is no bed within reach."),
        ("on_told", "This is bare earth, no flower."),
        ("on_told", "You have planted a seed. Water it."),
        ("on_told", "Here is a seed already."),
        ("on_told", "You have watered a seed."),
        ("on_told", "You have picked a flower."),
        ("on_told", "This is bare earth, no flower."),
    ]
    assert garden.errors == []


def grow_and_pick(garden):
    garden.do("plant")
    garden.do("pour", seconds=12.0)
    garden.do("pick_up")


def test_what_is_kept(tmp_path):
    garden = Garden(write_game(tmp_path))
    garden.join("Ann")
    garden.walk(-10.0, -12.0)
    grow_and_pick(garden)
    garden.leave()
    player = garden.join("Ann")
    assert (player.flowers, player.position) == (1, (-10.0, 0.0, -12.0))
    grow_and_pick(garden)
    assert garden.heard[-1] == ("on_told", "You have picked a flower, number 2.")
    assert [sign.name for sign in garden.seen("Sign")] == ["flowers picked: 2"]
    assert garden.errors == []


@pytest.mark.parametrize("cells", [2, 4])
def test_across_a_border(cells, tmp_path):
    garden = Garden(write_game(tmp_path), cells=cells)
    player = garden.join("Ann")
    assert garden.real_of(player.id).x1 == 0.0, "the gate is west of the border x = 0"
    garden.walk(2.0, -20.0)
    assert garden.real_of(player.id).x1 == 0.0, "within three metres nobody changes"
    garden.do("plant")
    garden.walk(10.0, -12.0)
    assert garden.real_of(player.id).x0 == 0.0
    grow_and_pick(garden)
    assert player.flowers == 1
    assert [sign.total for sign in garden.seen("Sign")] == [1]
    assert garden.errors == []


def test_a_bed_across_the_border_can_be_worked(tmp_path):
    """The bed is at x = 10, so the row is moved nearer to the border; the gardener stands on the other side."""
    near = [("garden/game.py", "(-30.0, -10.0, 10.0, 30.0)", "(-30.0, -10.0, 1.0, 30.0)")]
    garden = Garden(write_game(tmp_path, changes=near))
    player = garden.join("Ann")
    garden.walk(-2.0, -10.0)
    [bed] = [each for each in garden.seen("Bed") if each.position == (1.0, 0.0, -10.0)]
    assert garden.real_of(player.id) != garden.real_of(bed.id)
    grow_and_pick(garden)
    assert player.flowers == 1


def test_ghosts_in_a_strip_only(tmp_path):
    (tmp_path / "all").mkdir()
    (tmp_path / "strip").mkdir()
    [line] = re.findall(r"`(GAME = Game\(.*ghost_distance_m.*\))`", STEPS[5])
    strip = [("garden/game.py", "GAME = Game(player=Gardener, spaces=[GARDEN], on_ready=populate)", line)]
    everything = Garden(write_game(tmp_path / "all"))
    assert everything.ghosts() == 13, "every bed and the sign, in the one cell where it is not real"
    few = Garden(write_game(tmp_path / "strip", changes=strip))
    assert few.ghosts() == 7, "the two rows at x = -10 and x = 10, and the sign"


# Mistakes, with their real text.


def test_the_mistakes_that_check_finds(tmp_path):
    changes = [
        ("garden/entities.py", "stage: UInt8 = prop(ALL_CLIENTS)", "stage: UInt8 = prop(ALL_CLIENTS, default=300)"),
        ("garden/gardener.py", "def hear(self, words: Text) -> None:", "def hear(self, words) -> None:"),
    ]
    assert all(f"`{new}`" in STEPS[6] for _, _, new in changes)
    path = write_game(tmp_path, changes=changes)
    result = check(path)
    assert result.exit_code == 1
    assert f"```text\n{result.output}```" in STEPS[6]
    with pytest.raises(DefinitionError) as refused:
        load_game(path)
    assert all(str(each) in result.output for each in refused.value.problems)


def test_the_mistake_that_shows_when_the_code_runs(tmp_path):
    old, new = "bed.be_planted(self.me)", "bed.stage = 1"
    assert f"`{new}` in place of `{old}`" in STEPS[6]
    garden = Garden(write_game(tmp_path, changes=[("garden/gardener.py", old, new)]))
    player = garden.join("Ann")
    garden.walk(-10.0, -12.0)
    garden.do("say", "/plant")
    [error] = garden.errors
    what, text = re.findall(r'^game error what="(.*)"\s+error="(.*)"', STEPS[6], re.MULTILINE)[0]
    numbers = re.compile(r"\d+")
    assert numbers.sub("N", what) == numbers.sub("N", str(error["what"]))
    assert text == error["error"]
    garden.walk(-12.0, -12.0)
    assert player.position == (-12.0, 0.0, -12.0), "the gardener walks on"


# What surrounds the code.


def test_commands_and_options_exist():
    commands = re.findall(r"^\.venv/bin/terrazzo (.*)$", TEXT, re.MULTILINE)
    assert commands
    for line in commands:
        name, *words = shlex.split(line)
        usage = CliRunner().invoke(main, [name, "--help"])
        assert usage.exit_code == 0
        assert all(word in usage.output for word in words if word.startswith("--")), line


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / "docs" / target).exists(), target
    for path in re.findall(r"`((?:src|clients|docs|examples)/[^`]+)`", TEXT):
        assert (ROOT / path).exists(), path


def test_play_page_uses_the_names_of_the_table():
    script = (ROOT / "src/terrazzo/console/static/play.js").read_text()
    for words in ('KeyE: () => this.#do("pick_up")', 'this.#do("say", words)', '"on_said"', '"on_told"'):
        assert words in script, words
