"""The compiled kernels, each with a plain-Python form of the same name.

`from terrazzo._speed import codec` gives the compiled module where it was built and the plain one where it was not;
no other package depends on which. Some modules of other packages are compiled as they are, too: those that
have a `.pxd` beside them.

`TERRAZZO_PURE=1` in the environment selects the plain forms even where compiled ones are beside them: the finder of
each folder that has compiled modules is replaced by one that sees source files only. This package is imported before
all others (`terrazzo/__init__.py`). `COMPILED` is true when the compiled forms are in use.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, FileFinder, SourceFileLoader

if os.environ.get("TERRAZZO_PURE", "") not in ("", "0"):
    for _folder, _, _files in os.walk(os.path.dirname(__path__[0])):
        if any(_file.endswith(tuple(EXTENSION_SUFFIXES)) for _file in _files):
            sys.path_importer_cache[_folder] = FileFinder(_folder, (SourceFileLoader, SOURCE_SUFFIXES))

from terrazzo._speed import codec as _probe

COMPILED: bool = not (_probe.__file__ or "").endswith(".py")
"""True when the compiled forms are in use."""
