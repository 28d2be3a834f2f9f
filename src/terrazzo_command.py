"""The entry point of the `terrazzo` command: imports it, and ends quietly when Ctrl-C comes before that is done.

It is a module of its own beside the package, since importing anything inside the package imports all of it first.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command."""
    try:
        from terrazzo.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
