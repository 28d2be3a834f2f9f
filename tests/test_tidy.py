"""Checks that linters do not have: core packages do no I/O of their own, and every module has a docstring."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "terrazzo"
CORE = ("schema", "wire", "cluster", "world", "sync", "cell", "base", "managers", "login", "db", "client")
FORBIDDEN = {"time", "random", "asyncio", "socket", "threading", "os", "multiprocessing", "subprocess", "selectors"}
MODULES = sorted(SOURCE.rglob("*.py"))


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield each.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0], node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module_opens_with_a_docstring(path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{path.relative_to(ROOT)} does not say what it is for"


def core_modules():
    stores = re.compile(r"db/sqlite")
    core = (path for path in MODULES if path.relative_to(SOURCE).parts[0] in CORE)
    return [path for path in core if not stores.search(path.as_posix())]


@pytest.mark.parametrize("path", core_modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_core_is_pure(path):
    found = [(name, line) for name, line in imported(ast.parse(path.read_text())) if name in FORBIDDEN]
    assert not found, f"{path.relative_to(ROOT)} imports {found}: inject what it needs instead"


def test_the_check_sees_what_it_should():
    tree = ast.parse("import os.path\nfrom time import sleep\nfrom asyncio.tasks import gather\n")
    assert {name for name, _ in imported(tree)} <= FORBIDDEN


def test_every_compiled_kernel_has_its_plain_form():
    for compiled in (SOURCE / "_speed").glob("*.pyx"):
        assert compiled.with_suffix(".py").exists(), f"{compiled.name} has no plain-Python form"
    for typed in (SOURCE / "_speed").glob("*.pxd"):
        assert typed.with_suffix(".py").exists(), f"{typed.name} has no source"


def test_no_path_of_a_workplace_is_named():
    """A clone must mean the same everywhere."""
    folders = [ROOT / name for name in ("src", "tests", "docs", "examples", "clients", "benchmarks", ".ci")]
    texts = [path for folder in folders for path in folder.rglob("*")] + [
        path for path in ROOT.iterdir() if path.name != ".git"
    ]  # a file in a worktree
    for path in texts:
        if path.is_file() and path.suffix in {".py", ".pyx", ".pxd", ".md", ".toml", ".html", ".js", ".c", ""}:
            found = re.search(r"/(root|work|home/\w+)/\w", path.read_text(errors="ignore"))
            assert not found, f"{path.relative_to(ROOT)} names {found}"


def test_tables_of_a_switchboard_are_read_by_its_own_package_only():
    """Apps ask its methods (`home_of`, `is_here`, …), so its tables can change. The scenarios of `sim` judge it from
    inside."""
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0] not in ("wire", "sim"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and node.attr in ("boxes", "places"):
                    owner = ast.unparse(node.value)
                    assert not owner.endswith("switchboard"), f"{path.name}:{node.lineno} reads {owner}.{node.attr}"
