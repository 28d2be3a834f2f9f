"""The compiled kernels, each with a plain-Python form of the same name.

`from terrazzo._speed import codec` gives the compiled module where it was built and the plain one where it was not;
nobody else in the project needs to know which. Some modules of other packages are compiled as they are, too: those that
have a `.pxd` beside them.

`TERRAZZO_PURE=1` in the environment gives the plain forms even where compiled ones lie beside them: the finders for
these folders are replaced by some that only see source files. This package is imported before any of the others
(`terrazzo/__init__.py`). `COMPILED` says which form is in use.
"""

import os
import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

if os.environ.get("TERRAZZO_PURE", "") not in ("", "0"):
    for _name in ("_speed", "wire", "cell/client", "cell/mail"):
        _folder = os.path.join(os.path.dirname(__path__[0]), *_name.split("/"))
        sys.path_importer_cache[_folder] = FileFinder(_folder, (SourceFileLoader, SOURCE_SUFFIXES))

from terrazzo._speed import codec as _probe

COMPILED: bool = not (_probe.__file__ or "").endswith(".py")
"""True when the compiled forms are in use."""
