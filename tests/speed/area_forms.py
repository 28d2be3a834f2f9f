"""Both forms of the area kernel, side by side in one process."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import terrazzo._speed
from terrazzo._speed import area


def _plain() -> ModuleType:
    """The plain form; what it imports from its neighbour `places` is plain as well."""
    if (area.__file__ or "").endswith(".py"):
        return area
    compiled = {name: sys.modules[name] for name in ("terrazzo._speed.places", "terrazzo._speed.area")}
    try:
        for name in compiled:
            path = Path(terrazzo._speed.__path__[0]) / (name.rpartition(".")[2] + ".py")
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        return sys.modules["terrazzo._speed.area"]
    finally:
        sys.modules.update(compiled)


PLAIN = _plain()
FORMS = [PLAIN] if area is PLAIN else [PLAIN, area]
"""The plain form, and the compiled one if it is in use."""


def name_of(form: ModuleType) -> str:
    return "plain" if form is PLAIN else "compiled"
