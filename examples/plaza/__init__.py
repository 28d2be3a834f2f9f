"""Plaza: a small game to learn from. People walk about, chat with those near, and pick things up.

`entities` declares the entity types: their properties, the receivers of each, what is saved. `game` has their
behaviour, and ends with the one object that makes it a game: GAME. Run it with `terrazzo run examples/plaza`; `terrazzo
defs examples/plaza` lists the entity types.
"""
