"""Suggestions for names in a game's code that do not exist: `Uint8` for `UInt8`."""

from __future__ import annotations

import re
import sys
from types import ModuleType

from terrazzo.schema.report import did_you_mean


def explain_name(problem: BaseException) -> str:
    """A sentence for a name that is not defined, or not in the module it is taken from; nothing for anything else."""
    if isinstance(problem, NameError) and problem.name:
        return _explain_undefined(problem, problem.name)
    if isinstance(problem, ImportError):
        found = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(problem))
        module = sys.modules.get(found[2]) if found else None
        return _explain_missing(found[1], module) if found and module is not None else ""
    if isinstance(problem, AttributeError) and isinstance(problem.obj, ModuleType) and problem.name:
        return _explain_missing(problem.name, problem.obj)
    return ""


def _explain_undefined(problem: NameError, name: str) -> str:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    here = {*trace.tb_frame.f_globals, *trace.tb_frame.f_locals} if trace is not None else set()
    ours = _public("terrazzo")
    if name in ours:
        return f"{name} is not defined: write from terrazzo import {name}"
    near = did_you_mean(name, here | ours)
    word = near.removeprefix("; did you mean ").removesuffix("?")
    remedy = f" Write from terrazzo import {word}" if word in ours and word not in here else ""
    return f"{name} is not defined{near or ': import it, or correct the name'}{remedy}"


def _explain_missing(name: str, module: ModuleType) -> str:
    near = did_you_mean(name, (each for each in dir(module) if not each.startswith("_")))
    return f"{module.__name__} has no {name}{near or ': correct the name'}"


def _public(module: str) -> set[str]:
    return set(getattr(sys.modules.get(module), "__all__", ()))
