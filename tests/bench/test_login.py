"""`terrazzo bench login` in small: every client gets in and leaves; figures of each database that there is."""

import asyncio

from terrazzo.bench.login import measure
from terrazzo.bench.postgres import missing


def test_every_new_player_gets_its_entity_and_each_database_has_a_figure():
    told: list[str] = []
    found = asyncio.run(measure(logins=12, scrypt_logins=4, say=told.append))
    figures = found["figures"]
    stores = {"SQLite": 12, "SQLite with scrypt": 4}
    if missing():
        assert found["no PostgreSQL"] in told[1]
        assert "logins_per_cpu_s_postgres" not in figures
    else:
        stores["PostgreSQL"] = 12
        assert figures["logins_per_cpu_s_postgres"] > 0.0
    for store, logins in stores.items():
        assert found[store]["logins"] == logins
        assert found[store]["not in"] == 0
    assert all(figures[name] > 0.0 for name in ("logins_per_cpu_s_sqlite", "with_scrypt", "limit_ratio"))
