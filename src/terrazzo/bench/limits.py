"""The kernels in C that benchmarks measure beside: the files of `benchmarks/` in a clone of the project.

Instead of a kernel that cannot be built here there is a sentence with the reason.
"""

from __future__ import annotations

import ctypes
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CLONE = Path(__file__).parents[3]


@cache
def build_limit(name: str) -> ctypes.CDLL | str:
    """One of them, built as our own kernels were: setuptools' compiler, the flags of pyproject.toml."""
    source = CLONE / "benchmarks" / f"{name}.c"
    if not source.exists():
        return f"benchmarks/{name}.c is only in a clone of the project"
    if find_spec("setuptools") is None:
        return f"setuptools is needed to build benchmarks/{name}.c"
    from setuptools import Distribution, Extension

    flags = tomllib.loads((CLONE / "pyproject.toml").read_text())["tool"]["terrazzo"]["kernel-flags"]
    kernel = Extension(name, [str(source)], extra_compile_args=flags)
    with TemporaryDirectory() as folder:
        builder: Any = Distribution({"name": name, "ext_modules": [kernel]}).get_command_obj("build_ext")
        builder.build_lib = builder.build_temp = folder
        builder.ensure_finalized()
        try:
            builder.run()
        except Exception as problem:  # setuptools promises no class of it
            return f"benchmarks/{name}.c cannot be built here: {problem}"
        return ctypes.CDLL(builder.get_ext_fullpath(name))
