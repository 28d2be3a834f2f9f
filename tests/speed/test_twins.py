"""The compiled form and the plain form do the same: the same values, bytes, errors and changes over a large corpus."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import terrazzo._speed
from terrazzo._speed import COMPILED
from tests.speed.forms import form_of

EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")
ROOT = Path(__file__).parent.parent.parent


KERNELS = sorted(path.stem for path in Path(terrazzo._speed.__file__).parent.glob("*.pyx"))


def constants(module):
    return {
        name: value
        for name, value in vars(module).items()
        if name.isupper() and name[0] != "_" and isinstance(value, int | float) and not isinstance(value, bool)
    }


@pytest.mark.skipif(not COMPILED, reason="no compiled form is in use")
@pytest.mark.parametrize("name", KERNELS)
def test_constants_of_both_forms_are_equal(name):
    assert constants(form_of("plain", name)) == constants(form_of("compiled", name))


def run(*, pure):
    done = subprocess.run(
        [sys.executable, "-m", "tests.speed.corpus"],
        env={**os.environ, "TERRAZZO_PURE": "1" if pure else "0"},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr.strip(), done.stdout.splitlines()


def is_built():
    return (Path(terrazzo._speed.__file__).parent / f"codec{EXTENSION}").exists()


def test_the_environment_chooses_the_form():
    asked = os.environ.get("TERRAZZO_PURE", "") not in ("", "0")
    assert (is_built() and not asked) == COMPILED


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler on this machine")
def test_where_there_is_a_compiler_the_kernels_are_compiled():
    package = Path(terrazzo._speed.__file__).parent.parent
    for source in [*package.rglob("*.pyx"), *package.rglob("*.pxd")]:
        assert source.with_name(source.stem + EXTENSION).exists(), f"{source.name} was not compiled"


def test_the_plain_forms_are_plain_everywhere():
    names = [
        "terrazzo._speed.sight",
        "terrazzo.wire.entity.streams",
        "terrazzo.wire.entity.switchboard",
        "terrazzo.cell.client.sent",
    ]
    program = f"import importlib; [print(importlib.import_module(name).__file__) for name in {names}]"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TERRAZZO_PURE": "1"}, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [name[-3:] for name in done.stdout.split()] == [".py"] * len(names)


@pytest.mark.skipif(not is_built(), reason="no compiled form was built here")
def test_both_forms_give_the_same():
    form, compiled = run(pure=False)
    assert form == "compiled"
    form, plain = run(pure=True)
    assert form == "plain"
    assert len(compiled) > 10_000
    for number, (one, two) in enumerate(zip(compiled, plain, strict=True)):
        assert one == two, f"line {number}"
