"""The compiled kernels, each with a plain-Python form of the same name.

`from terrazzo._speed import codec` gives the compiled module where it was built and the plain one where it was not;
nobody else in the project needs to know which. `TERRAZZO_PURE=1` in the environment gives the plain forms even where
compiled ones lie beside them: the finder for this folder is replaced by one that only sees source files.
`COMPILED` says which form is in use.
"""

import os
import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

if os.environ.get("TERRAZZO_PURE", "") not in ("", "0"):
    for _folder in __path__:
        sys.path_importer_cache[_folder] = FileFinder(_folder, (SourceFileLoader, SOURCE_SUFFIXES))

from terrazzo._speed import codec as _probe

COMPILED: bool = not (_probe.__file__ or "").endswith(".py")
"""True when the compiled forms are in use."""
