"""The Python client: what a player's program is made of. Bots are this client, many times.

    ClientApp      client.py     the program: logs in, joins its BaseApp, keeps the view, runs the game's client parts
    ClientGame     game.py       what all clients of one game share
    Client         parts.py      the base of a game's client parts: calls to the server, callbacks from it
    Stage          stage.py      the parts of what is in view, and when their code runs
    Bot            bot.py        wanders about and says something now and then
    explain        failures.py   every way to fail, in one sentence

Nothing here touches a socket, a clock or a source of randomness.
"""

from terrazzo.client.bot import Bot
from terrazzo.client.client import Address, ClientApp, Phase
from terrazzo.client.game import ClientGame
from terrazzo.client.parts import Client

__all__ = ["Address", "Bot", "Client", "ClientApp", "ClientGame", "Phase"]
