"""The game of `terrazzo bench login`: a player with a name and a purse, and no body."""

from __future__ import annotations

from terrazzo import BASE_AND_CLIENT, EntityType, Game, Int32, Proxy, Space, Text, UInt8, prop


class Player(EntityType):
    """A player."""

    name: Text = prop(BASE_AND_CLIENT, saved=True, unique=True, database_length=40)
    level: UInt8 = prop(BASE_AND_CLIENT, saved=True, default=1)
    gold: Int32 = prop(BASE_AND_CLIENT, saved=True)


class PlayerBase(Proxy, of=Player):
    """Has its client, and nothing to do."""


GAME = Game(player=Player, spaces=[Space("hall", bounds=(-50.0, -50.0, 50.0, 50.0))])
