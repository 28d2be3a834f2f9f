"""CellApp: the cells of spaces, the bodies in them, real and ghost, and what their clients are sent.

    cellapp.py       the app: links, the order of a tick, which room gets what of the others
    ground.py        trees and cells, as the manager sends them

    api/             what the code of a game uses: cell.py (what and where an entity is, calls), sights.py, acts.py,
                     own.py (what may be done with which object), views.py (other entities), classes.py
    mail/            creation.py (a base creates a real), mail.py (calls and requests), exchange.py (where parts are)
    migration/       offload.py (a real leaves, or arrives), travelling.py (what of it travels), arrival.py, answers.py,
                     teleport.py
    motion/          clockwork.py (timers and controllers that are due), controllers.py (walk, turn), riding.py
    client/          interests.py (areas and triggers), witness.py (which entities are in a client's area),
                     sent.py, its table entry_states.py and aliases.py (what a client was sent), budget.py (its bytes),
                     scheduler.py (which client is served when), clients.py (attached and detached), moves.py (what a
                     client reports of its place)
    ghosts/          placement.py (where a real has ghosts), receiver.py and its table stream.py (what other CellApps
                     send of theirs), held.py, holding.py, mending.py, copies.py, tombstones.py, seeking.py
    core/            core.py (the state and services that all share), space.py, body.py, real.py, steps.py, history.py,
                     kind.py (what is worked out once for each entity type), services.py (what the core and the game use
                     of the rooms above), account.py (what is sent, in bytes), parcels.py, destinations.py, members.py,
                     links.py, timers.py, controllers.py, hooks.py, readonly.py, neighbours.py

A room uses those below it and none above it: import-linter holds that (`pyproject.toml`). Where a room below needs
something of one above, it gets a callable, or the core has a Protocol for it.

Game code imports `Cell`; the app itself is `terrazzo.cell.cellapp.CellApp`.
"""

from terrazzo.cell.api.cell import Cell

__all__ = ["Cell"]
