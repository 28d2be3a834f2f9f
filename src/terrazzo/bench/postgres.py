"""A real PostgreSQL for benchmarks and tests: in a folder of its own, on a unix socket only, as an unprivileged user.

PostgreSQL refuses to run as root; then it runs as the user `postgres`, whom Debian's package makes. `missing()` tells
why there is none on this machine.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

from terrazzo.errors import UsageError

USER = "postgres"
PROGRAMS = ("initdb", "pg_ctl", "psql")
HINT = "as root, `make test` installs Debian's"
SETTINGS = """
listen_addresses = ''
max_connections = 20
"""
ACCESS = "local all all trust\n"


@cache
def programs() -> Path | None:
    """The folder of the programs; Debian's is not in PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: each.parts[-2], reverse=True)
    other = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    folders = (each for each in (*debian, *other) if all((each / name).exists() for name in PROGRAMS))
    return next(folders, None)


def missing() -> str:
    """Why there is no PostgreSQL here; empty: there is one."""
    if programs() is None:
        return f"there is no PostgreSQL: {HINT}"
    if os.getuid() == 0:
        try:
            pwd.getpwnam(USER)
        except KeyError:
            return f"PostgreSQL does not run as root, and there is no user {USER}: {HINT}"
    return ""


class Postgres:
    """A server that is running until `close`. `settings` are lines of postgresql.conf, `access` of pg_hba.conf."""

    def __init__(self, settings: str = SETTINGS, access: str = ACCESS) -> None:
        self.folder = Path(mkdtemp(prefix="terrazzo-pg-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, USER, USER)
        self._names = count()
        self._run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--username={USER}")
        (self.folder / "data" / "pg_hba.conf").write_text(access)
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(settings)
        self.start()

    @property
    def pid(self) -> int:
        """Of the postmaster; the other processes are its children."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])

    def start(self) -> None:
        """Starts it again."""
        self._run("pg_ctl", "start", "-w", "-s", "-l", f"{self.folder}/log", "-o", f"-k {self.folder}")

    def stop(self) -> None:
        """At once, as in a crash."""
        self._run("pg_ctl", "stop", "-s", "-m", "immediate")

    def close(self) -> None:
        """Stops it and removes its folder."""
        self._run("pg_ctl", "stop", "-s", "-m", "immediate", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self, options: str = "") -> str:
        """The URL of a new, empty database."""
        name = f"world{next(self._names)}"
        self.sql(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def url(self, name: str, user: str = USER) -> str:
        """The URL of a database."""
        return f"postgresql://{user}@/{name}?host={self.folder}"

    def sql(self, text: str, url: str = "") -> str:
        """Runs statements with psql; the rows, one line each."""
        return self._run(
            "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, url or self.url("postgres")
        )

    def _run(self, program: str, *args: str, check: bool = True) -> str:
        folder = programs()
        assert folder is not None, missing()
        away = {"user": USER, "group": USER, "extra_groups": []} if os.getuid() == 0 else {}
        done = subprocess.run(
            [str(folder / program), *args],
            cwd=self.folder,
            env={"PGDATA": f"{self.folder}/data", "PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **away,  # type: ignore[call-overload]
        )
        if check and done.returncode:
            raise UsageError(f"{program} of PostgreSQL has failed: {done.stdout or self._log()}")
        return (done.stdout or "").strip()

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text()[-2000:] if log.exists() else ""
