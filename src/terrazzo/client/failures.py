"""Why a client is not in the world: each way to fail as one sentence with what to do about it.

The reason that a server sends (wrong password, another digest, the server is full) is passed on as it is; this is for
failures without one, because no server answers or its answer did not arrive.
"""

from __future__ import annotations

from terrazzo.wire.client import Reason

LOGIN = "login server"
GAME = "game server"

_OPENING = {
    Reason.NO_ANSWER: "does not answer: check the address, its public key, and that it runs",
    Reason.SERVER_FULL: "is full: try again later",
    Reason.BANNED: "does not take clients from this address, which is banned",
    Reason.WRONG_VERSION: "speaks another version of the protocol: use the client that belongs to it",
    Reason.WRONG_SUITE: "does not speak this client's cipher: let it allow both suites, or choose the other one",
    Reason.PATH_LOST: "cannot be reached, or closed the connection: check the address and that it runs",
}

_OPEN = {
    Reason.ENDED: "ended the session: log in again",
    Reason.ABORTED: "ended the session: log in again",
    Reason.SILENT: "has not been heard for too long: check the network and log in again",
    Reason.SLOW_READER: "has more to say than this connection takes: try a faster one",
    Reason.PROTOCOL: "found this client's messages at fault: use the client that belongs to it",
    Reason.KEYS_WORN: "needs new keys after a very long session: log in again",
    Reason.END_TIMEOUT: "did not finish ending the session in time",
    Reason.SERVER_FULL: "is full: try again later",
    Reason.BANNED: "does not take clients from this address, which is banned",
    Reason.PATH_LOST: "lost the connection: check the network and log in again",
}


def place(address: tuple[str, int]) -> str:
    """An address as people write it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def explain(server: str, address: tuple[str, int], reason: Reason, *, was_open: bool, by_peer: bool) -> str:
    """Why a connection could not be opened, or is over."""
    if was_open and reason is Reason.PROTOCOL and not by_peer:
        return f"The {server} at {place(address)} broke the protocol: use the client that belongs to it."
    sentence = (_OPEN if was_open else _OPENING).get(reason, f"ended the attempt ({reason.name.lower()}): try again")
    return f"The {server} at {place(address)} {sentence}."


def too_slow(server: str, address: tuple[str, int], seconds: float) -> str:
    """A server that was reached and does not go on."""
    return (
        f"The {server} at {place(address)} was reached but took longer than {seconds:g} s to answer: try again later."
    )


def unreadable(address: tuple[str, int]) -> str:
    """A login reply that makes no sense."""
    return f"The {LOGIN} at {place(address)} gave an answer that cannot be read: use the client that belongs to it."


def not_confirmed(address: tuple[str, int]) -> str:
    """The client has left, and the server did not confirm that everything is saved."""
    return f"The {GAME} at {place(address)} did not confirm that everything is saved: log in again, and check."


def not_resumed(address: tuple[str, int], seconds: float) -> str:
    """The connection was lost, and no attempt to resume has succeeded in time."""
    return f"The {GAME} at {place(address)} could not be reached again within {seconds:g} s: log in again."


def no_door(address: tuple[str, int], transport: str) -> str:
    """The cluster does not offer the transport that the client speaks."""
    return f"The {LOGIN} at {place(address)} knows no game server that takes {transport}: use the other transport."
