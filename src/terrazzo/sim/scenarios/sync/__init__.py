"""The sync scenario: how properties are sent, in worlds of which no two have the same schema.

scenario.py            the scenario itself
entity_types.py        the schema, drawn from the seed
game.py                the behaviour of the entities
edits.py               changes anywhere inside a property
reals_and_ghosts.py    what a ghost's history must be
client_view.py         what a client is sent, and has at rest
client_progress.py     which fact of an entity a client may get next
lost_messages.py       which unreliable messages did not reach which client
"""
