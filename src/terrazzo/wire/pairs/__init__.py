"""The messages between two kinds of apps, one module for each pair.

The numbers are given once and for ever; each pair has a ten of its own (`wire/messages.py` keeps the table).

    login_db      20    base_cellmgr  60    cell_cell    100
    db_basemgr    30    cellmgr_cell  70
    basemgr_base  40    base_cell     80
    base_db       50                              console_any  120
                                                  creation     130
                                                  names        140
                                                  stored       170
"""

from terrazzo.wire.pairs import (
    base_cell,
    base_cellmgr,
    base_db,
    basemgr_base,
    cell_cell,
    cellmgr_cell,
    console_any,
    creation,
    db_basemgr,
    login_db,
    names,
    stored,
)

# Two apps compare their messages when they link: every process imports all messages, whichever it uses.
__all__ = [
    "base_cell",
    "base_cellmgr",
    "base_db",
    "basemgr_base",
    "cell_cell",
    "cellmgr_cell",
    "console_any",
    "creation",
    "db_basemgr",
    "login_db",
    "names",
    "stored",
]
