"""CellApp: the cells of spaces, the bodies in them, real and ghost, and what their clients are told.

    cellapp.py    the app: links, the order of a tick               api.py      what a game's cell parts can do
    space.py      a space: tree, bodies, who is near                views.py    what one entity sees of another
    body.py       an entity here, real or ghost                     kind.py     what is worked out once for each type
    real.py       what only a real has: the step of the tick        timers.py   its timers
    births.py     a base asks for a cell part                       mail.py     what bases and others send it
    haunts.py     where a real has ghosts                           ghost.py    ghosts of reals elsewhere
    offload.py    a real on its way                                 history.py  what happened lately, by number
    witness.py    what a client is told                             feed.py     how that gets to its base
    moves.py      what a client says about where it is              exchange.py where parts live, for the switchboard

Game code imports `Cell`; the app itself is `terrazzo.cell.cellapp.CellApp`.
"""

from terrazzo.cell.api import Cell

__all__ = ["Cell"]
