"""CellApp: the cells of spaces, the bodies in them, real and ghost, and what their clients are told.

    cellapp.py      the app: links, the order of a tick             what a game's code has
    ground.py       trees and cells, as the manager gives them        api.py          what and where it is, calls
    space.py        a space here: tree, bodies                        sights.py       what it sees
    body.py         an entity here, real or ghost                     acts.py         what it does
    kind.py         what is worked out once for each type             hooks.py        what it hears
                                                                      own.py          what its code may do
    a real                                                            views.py        what it has of others
      real.py         what only a real has: the step of the tick
      creation.py       a base asks for one                           ghosts
      mail.py         what bases and others send it                   haunts.py       where a real has some
      clockwork.py    its timers and controllers, when due            neighbours.py   small numbers for apps
      timers.py controllers.py                                        ghost.py        what others tell of theirs
      moves.py        what its client says of its place               held.py         what came too early
      offload.py      it leaves for another cell                      graves.py       what is no more
      arrival.py      it comes                                        copies.py       a ghost's state, step by step
      teleport.py     it shall go far                                 mending.py      what is held for too long
      riding.py       it stands on another                            history.py      what happened lately, by number
      parcels.py      how it is sent: compressed where that pays

    a client                                                        exchange.py     where parts live, for the mail
      interests.py    who is near whom; triggers
      witness.py      who is in its area
      story.py aliases.py   what it has been told of each, by which name
      feed.py         how that gets to its base                     account.py      what it all costs, in bytes

Game code imports `Cell`; the app itself is `terrazzo.cell.cellapp.CellApp`.
"""

from terrazzo.cell.api.cell import Cell

__all__ = ["Cell"]
