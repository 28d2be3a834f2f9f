"""The DBApp of `terrazzo bench login` with scrypt aside: at its lowest cost, a few microseconds for a password.

`python -m terrazzo.bench.login_db` runs in place of the DBApp's process. Only the benchmark's own launcher names this
module; no setting leads here, so that no world can store passwords like this by mistake.
"""

from __future__ import annotations

import os
import sys

from terrazzo.db.passwords import Cost, Hasher
from terrazzo.runtime import process
from terrazzo.runtime.members import DBMember


class CheapDBMember(DBMember):
    """The DBApp with cheap passwords."""

    def _make_hasher(self) -> Hasher:
        return Hasher(os.urandom, Cost(log_n=1, r=1, p=1))


if __name__ == "__main__":
    process.MEMBERS["db_app"] = "terrazzo.bench.login_db:CheapDBMember"
    sys.exit(process.main())
