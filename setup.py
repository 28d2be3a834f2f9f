"""Builds the compiled kernels; everything else is in pyproject.toml.

A kernel is one module name with two forms. `x.py` is the plain-Python form, always there. The compiled form has the
same name and is made from `x.pyx` where the fast form needs raw buffers (a twin, all of these are in
`terrazzo._speed`), or from `x.py` itself where a `x.pxd` beside it gives the C types (one source: wherever Python that
runs for every client and tick is). Python prefers the compiled file when both exist; TERRAZZO_PURE=1 hides it (see
`terrazzo/_speed/__init__.py`).

A kernel that cannot be built is left out, and one warning says which and why: on a machine without a C compiler the
install succeeds with the plain forms.

Both steps, Cython's and the compiler's, take as many kernels at a time as there are processors, the longest first.
"""

import os
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

SOURCES = Path("src")
PROCESSORS = os.cpu_count() or 1
FLAGS = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["terrazzo"]["kernel-flags"]


def kernels() -> list[Extension]:
    """One extension per kernel, or none when the caller asks for the plain forms (TERRAZZO_PURE=1)."""
    if os.environ.get("TERRAZZO_PURE", "") not in ("", "0"):
        return []
    sources = {path.with_suffix(""): path for path in SOURCES.rglob("*.pyx")}
    for pxd in SOURCES.rglob("*.pxd"):
        sources.setdefault(pxd.with_suffix(""), pxd.with_suffix(".py"))
    longest_first = sorted(sources.items(), key=lambda item: (-item[1].stat().st_size, item[0]))
    return [
        Extension(".".join(name.relative_to(SOURCES).parts), [str(path)], extra_compile_args=FLAGS)
        for name, path in longest_first
    ]


def cythonized() -> list[Extension]:
    """The kernels as C, or none when Cython cannot be had."""
    found = kernels()
    if not found:
        return []
    from Cython.Build import cythonize

    print(f"{len(found)} kernels: translated into C, then compiled, {PROCESSORS} at a time.", flush=True)
    return cythonize(
        found,
        build_dir="build/cython",
        nthreads=PROCESSORS,
        compiler_directives={
            "language_level": "3",
            "annotation_typing": False,  # C types come from the .pxd; annotations are for people and mypy
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "embedsignature": True,
            "freethreading_compatible": False,
        },
        force=False,
        quiet=True,
    )


class BuildWhatCanBeBuilt(build_ext):
    """Leaves out, with a warning, what the machine cannot compile (`optional` would let a missing compiler fail)."""

    def initialize_options(self) -> None:
        """As many at a time as there are processors, unless the caller says otherwise."""
        super().initialize_options()
        self.parallel = PROCESSORS
        self.done = 0
        self.left_out: dict[str, str] = {}

    def build_extension(self, ext: Extension) -> None:
        """Build one kernel, or keep why not."""
        try:
            super().build_extension(ext)
        except Exception as problem:
            self.left_out[ext.name] = str(problem)
            return
        self.done += 1
        print(f"  {self.done:2} of {len(self.extensions)}  {ext.name}", flush=True)

    def run(self) -> None:
        """Build, then forget what was left out, so that nobody looks for its file."""
        inplace, self.inplace = self.inplace, False
        super().run()
        self.inplace = inplace
        self._tell_left_out()
        self.extensions = [ext for ext in self.extensions if ext.name not in self.left_out]
        if inplace:
            self.copy_extensions_to_source()

    def _tell_left_out(self) -> None:
        """One warning, however many there are: without a compiler it is all of them, for one reason."""
        if self.left_out:
            some = ", ".join(sorted(self.left_out)[:3])
            names = some if len(self.left_out) <= 3 else f"{some} and {len(self.left_out) - 3} more"
            reasons = "; ".join(dict.fromkeys(self.left_out.values()))
            self.warn(f"not compiled: {names}. Terrazzo works without, only slower. The reason: {reasons[:500]}")


class PackWebClient(build_py):
    """Copies the modules of the browser client, which are outside of the package, into the package of the console."""

    def run(self) -> None:
        """Build, then copy; an editable install serves the modules from its clone."""
        super().run()
        if not self.editable_mode:
            packed = Path(self.build_lib) / "terrazzo" / "console" / "client"
            self.mkpath(str(packed))
            for module in Path("clients/web").glob("*.js"):
                self.copy_file(str(module), str(packed / module.name))


if __name__ == "__main__":  # Cython's own processes may import this file
    setup(ext_modules=cythonized(), cmdclass={"build_ext": BuildWhatCanBeBuilt, "build_py": PackWebClient})
