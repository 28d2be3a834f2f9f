"""An install on a machine without a C compiler succeeds and works, on the plain-Python forms."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import terrazzo, terrazzo._speed
from terrazzo.schema import types
assert not terrazzo._speed.COMPILED
assert terrazzo.__file__.startswith({target!r}), terrazzo.__file__
codec = types.SequenceType(types.UNICODE_STRING).codec
assert codec.decode(codec.encode(["a", "žluť"])) == ["a", "žluť"]
print("works")
"""


@pytest.mark.skipif(bool(os.environ.get("TERRAZZO_PURE")), reason="once is enough: the compiled run has it")
def test_install_without_a_compiler(tmp_path):
    source = tmp_path / "source"
    ignore = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignore)
    shutil.copytree(ROOT / "clients", source / "clients")
    if (ROOT / "build" / "cython").exists():  # what Cython made of the same sources, which it need not make again
        shutil.copytree(ROOT / "build" / "cython", source / "build" / "cython")
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    target = tmp_path / "installed"
    missing = str(tmp_path / "no-such-compiler")
    command = [sys.executable, "-m", "pip", "install", "--verbose", "--no-build-isolation", "--no-deps", "--no-index",
               "--disable-pip-version-check", "--target", str(target), str(source)]  # fmt: skip
    installed = subprocess.run(
        command, env={**os.environ, "CC": missing, "CXX": missing}, capture_output=True, text=True, check=False
    )
    assert installed.returncode == 0, installed.stderr
    assert not list(target.rglob("*.so"))
    told = [line for line in (installed.stdout + installed.stderr).splitlines() if "not compiled" in line]
    assert len(told) == 1, "one warning for all kernels"
    assert "Terrazzo works without, only slower" in told[0]
    packed = {path.name for path in (target / "terrazzo" / "console" / "client").iterdir()}
    assert packed == {path.name for path in (ROOT / "clients" / "web").glob("*.js")}, "the browser client's modules"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(target=str(target))],
        env={**os.environ, "PYTHONPATH": str(target)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "works", done.stderr
