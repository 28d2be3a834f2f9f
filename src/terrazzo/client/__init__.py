"""The Python client: what a player's program is made of. Bots are this client, many times.

    ClientLink     link.py       gets a client in and out: logs in, joins its BaseApp, leaves
    ClientApp      client.py     the program: a link that keeps the view and runs the game's client parts
    Walker         walker.py     a link that walks and keeps no view (walk.py)
    Herd           herd.py       many walkers over UDP in one program: crowds are made of it
    ClientGame     game.py       what all clients of one game share
    Client         parts.py      the base of a game's client parts: calls to the server, callbacks from it
    Stage          stage.py      the parts of what is in view, and when their code runs
    Bot            bot.py        wanders about and chats now and then
    explain        failures.py   every way to fail, in one sentence
    Pauses         pauses.py     when a client that lost its connection tries to resume

Nothing here touches a socket, a clock or a source of randomness.
"""

from terrazzo.client.bot import Bot
from terrazzo.client.client import ClientApp
from terrazzo.client.game import ClientGame
from terrazzo.client.link import Address, ClientLink, Phase
from terrazzo.client.parts import Client

__all__ = ["Address", "Bot", "Client", "ClientApp", "ClientGame", "ClientLink", "Phase"]
