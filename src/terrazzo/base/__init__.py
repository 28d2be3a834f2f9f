"""BaseApp: the fixed homes of entities, and the connections of the players' programs.

    baseapp.py        the app: links, the tick, which object gets what     api.py          what a game's parts can do
    entity.py         one base: its values, its mail, its end              proxy.py        a base with a client
    entity_data.py    values of both parts, location, database id          clientmail.py   messages of a client, checked
    cell_part.py      its cell part (cell_part_states.py: the table)       shown.py        what a client was sent
    saving.py         how a base is saved                                  sessions.py     the proxy of each session
    saveslots.py      how many saves at a time; the periodic archive
    factory.py        creates, registers and unregisters bases             keys.py         one-time login keys
    idstock.py        entity ids                                           takeover.py     a second login of a player
    logoffs.py        log-offs until they are confirmed                    whereabouts.py  where parts live
    services.py       what these modules share
    presence.py       the client of a proxy (presence_states.py: table)    farewells.py   why a client is gone
    tokens.py         tokens to resume with after a lost connection
    alarms.py, client_batch.py, counts.py, limits.py

Each module imports only from layers below its own (`pyproject.toml`, import-linter). Game code imports `Base` and
`Proxy`; the app itself is `terrazzo.base.baseapp.BaseApp`.
"""

from terrazzo.base.api import Base, Proxy, Server
from terrazzo.base.farewells import ClientLoss, LogOnAnswer

__all__ = ["Base", "ClientLoss", "LogOnAnswer", "Proxy", "Server"]
