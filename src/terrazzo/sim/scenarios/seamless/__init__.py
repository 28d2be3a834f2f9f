"""The seamless scenario: whole clusters with real clients, cells that change, and a faulty network.

The world and its workload:

    scenario.py                the scenario itself, and `skeleton`, its small form
    shape.py                   what is drawn from the seed before the world begins
    entity_types.py            the entity types
    game.py, behaviour.py      what the entities do; what all of them share
    walking.py                 how entities choose where to walk
    changes_in_hooks.py        what entities do in the hooks of leaving and entering a cell
    ground.py                  how cells are added and retired, and borders moved
    players.py                 the players and their clients

What the judge records, and what each module checks:

    judge.py                   what the game's code reports to the judge
    entity_story.py            what each entity did: the record that ghosts and clients are compared with
    holders.py                 P1: a CellApp holds each living entity at every moment
    once.py                    P1: timers, controllers, teleports and area events happen exactly once
    timers.py                  P1: timers of chosen numbers fire in the right round
    controller_arrivals.py     P1: a controller reports its arrival at the goal
    riding_and_visibility.py   P1, P3, P4: riders, and entities that the game hides or shows
    latency.py                 P1, P2: without faults no call and no body takes longer than the paths allow
    calls.py                   P2: each call arrives once, or is reported
    reals_and_ghosts.py        P1, P3: one real for each entity; each ghost equals its real at that step
    allowed_skips.py           P3: which steps a ghost may skip
    migration_hooks.py         P3: the hooks of migration come in pairs
    client_view.py             P4: what one client is sent
    history_gaps.py            P4: what a client may miss because the history was too short
    sightings.py               P4: how late an entity may appear
    byte_budget.py             P4: the bytes for a client
    kept_proxies.py            P4: proxies that outlive their client and get the next one
    saves.py                   P5: what was confirmed as saved is loaded again
    call_rates.py              P7: call rates and exposure
    speed_limit.py             P7: no client moves its entity too fast
    at_rest.py                 what must hold when the workload has ended
    liveness_bounds.py         how long each of that may take
"""
