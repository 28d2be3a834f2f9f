"""BaseApp: the fixed homes of entities, and the connections of the players' programs.

    baseapp.py     the app: links, sessions, ticks             api.py         what a game's base parts can do
    entity.py      one base: its values, its mail, its end     proxy.py       a base with a client
    cellside.py    its cell part, as the base knows it         clientmail.py  what a client may say
    saving.py      how it gets into the database               drafts.py      an entity before it has a number
    nursery.py     how bases begin and are struck off          idstock.py, keys.py, alarms.py, limits.py

Game code imports `Base` and `Proxy`; the app itself is `terrazzo.base.baseapp.BaseApp`.
"""

from terrazzo.base.api import Base, Proxy, Server

__all__ = ["Base", "Proxy", "Server"]
