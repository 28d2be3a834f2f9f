"""The compiled form and the plain form do the same: the same values, bytes, errors and changes over a large corpus."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import terrazzo._speed
from terrazzo._speed import COMPILED

ROOT = Path(__file__).parent.parent.parent


def run(*, pure):
    done = subprocess.run(
        [sys.executable, "-m", "tests.speed.corpus"],
        env={**os.environ, "TERRAZZO_PURE": "1" if pure else "0"},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr.strip(), done.stdout.splitlines()


def test_the_environment_chooses_the_form():
    asked = os.environ.get("TERRAZZO_PURE", "") not in ("", "0")
    built = any(Path(terrazzo._speed.__file__).parent.glob("codec.*.so"))
    assert (built and not asked) == COMPILED


@pytest.mark.skipif(
    not any(Path(terrazzo._speed.__file__).parent.glob("codec.*.so")), reason="no compiled form was built here"
)
def test_both_forms_give_the_same():
    form, compiled = run(pure=False)
    assert form == "compiled"
    form, plain = run(pure=True)
    assert form == "plain"
    assert len(compiled) > 10_000
    for number, (one, two) in enumerate(zip(compiled, plain, strict=True)):
        assert one == two, f"line {number}"
