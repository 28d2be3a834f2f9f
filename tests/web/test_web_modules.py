"""The modules of the browser client: one import has all names, and a copy of the folder is a working client."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.web.node import needs_node

CLIENT = Path(__file__).parents[2] / "clients" / "web"
MODULES = sorted(CLIENT.glob("*.js"))
IMPORT = re.compile(r'^(?:import|export|}) .*?"([^"]+)";$', re.MULTILINE)
NAMES = [
    "Channel", "ChannelError", "Client", "DecodeError", "Entity", "LoginError", "Opaque", "REASONS", "Reader", "Schema",
    "UsageError", "View", "Writer", "applyChange", "comeBack", "expand", "fromHex", "indexBits", "makeCodec",
    "parseBody", "partEvents", "readChange", "toHex", "webAgree", "webAgreement",
]  # fmt: skip
"""All names that a page may import from terrazzo.js."""
SCRIPT = "import * as all from %s; console.log(JSON.stringify(Object.keys(all)));"


def imports(module: Path) -> list[str]:
    return IMPORT.findall(module.read_text())


@needs_node
def test_copied_folder_exports_every_name_from_terrazzo_js(tmp_path: Path) -> None:
    copied = shutil.copytree(CLIENT, tmp_path / "copied")
    script = SCRIPT % json.dumps((copied / "terrazzo.js").as_uri())
    command = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (sorted(json.loads(done.stdout)), done.stderr) == (NAMES, "")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_module_imports_only_modules_of_its_folder_by_relative_paths(module: Path) -> None:
    assert {f"./{each.name}" for each in MODULES} >= set(imports(module))
    lines = [line for line in module.read_text().splitlines() if not line.startswith("//")]
    forms = [line for line in lines if ' from "' in line or "import(" in line]
    assert len(imports(module)) == len(forms), "an import in a form that this test does not see"


def test_modules_have_no_import_cycle_and_terrazzo_js_reaches_all() -> None:
    graph = {f"./{module.name}": set(imports(module)) for module in MODULES}
    TopologicalSorter(graph).prepare()  # raises for a cycle, and names it
    reached = {"./terrazzo.js"}
    while new := {each for name in reached for each in graph[name]} - reached:
        reached |= new
    assert reached == set(graph)
