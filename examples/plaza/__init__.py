"""Plaza: a small game to learn from. People walk about, chat with those near, and pick things up.

`entities` says what there is: the types, who sees what, what is saved. `game` says what they do, and ends with the one
object that makes it a game: GAME. Run it with `terrazzo run examples/plaza`; `terrazzo defs examples/plaza` shows what
its definitions come to.
"""
