"""Plaza: a small game to learn from. People walk about, chat with those near, and pick things up.

So far it says what its entities are (`entities`); `terrazzo defs examples/plaza` shows what that comes to. The
behaviour of their parts, the spaces and the door between them come with the world server.
"""
