"""The plain and the compiled form of the kernels, side by side in one process."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import terrazzo._speed
from terrazzo._speed import COMPILED

FORMS = ["plain", "compiled"] if COMPILED else ["plain"]


def form_of(form: str, name: str) -> ModuleType:
    """A kernel in one of its forms; what is not asked for by name it takes from the form in use."""
    if form == "compiled" or not COMPILED:
        return importlib.import_module(f"terrazzo._speed.{name}")
    known = f"tests.speed.plain_{name}"
    if known not in sys.modules:
        path = Path(terrazzo._speed.__file__).parent / f"{name}.py"
        spec = importlib.util.spec_from_file_location(known, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]
