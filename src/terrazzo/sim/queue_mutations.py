"""Broken forms of the queue before a full world, each with a name (`mutations.py` has the table).

Each is a patch of the LoginApp when it starts. The queue scenario must detect each of them within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.cluster.app import App
from terrazzo.login.loginapp import LoginApp
from terrazzo.wire.login_refusals import LoginRefusal

Harm = Callable[[App], None]


def _of_login(harm: Callable[[Any, Any], None]) -> Harm:
    """A harm of the LoginApp and its queue."""

    def apply(app: App) -> None:
        if isinstance(app, LoginApp):
            login: Any = app
            harm(login, login._queue)

    apply.__doc__ = harm.__doc__
    return apply


@_of_login
def _forgets_away(login: Any, queue: Any) -> None:
    """A client with a lost connection loses its place."""
    queue.lose = lambda session, now: queue.leave(session)


@_of_login
def _serves_the_last(login: Any, queue: Any) -> None:
    """The last client of the queue is let in first."""

    def last(is_here: Any) -> Any:
        sessions = ((each, each.attempt.session) for each in reversed(queue._order))
        return next((each for each, session in sessions if session is not None and is_here(session)), None)

    queue.first = last


@_of_login
def _keeps_left(login: Any, queue: Any) -> None:
    """A client that leaves the queue keeps its place as if its connection were lost."""
    queue.leave = lambda session: queue.lose(session, login.host.now)


@_of_login
def _never_forgets(login: Any, queue: Any) -> None:
    """A client that vanished keeps its place for ever."""
    queue.drop_away = lambda now: None


@_of_login
def _refuses_when_full_after_all(login: Any, queue: Any) -> None:
    """A client that had its turn is refused when the world is full after all."""
    login._back_to_queue = lambda attempt: login._refuse_attempt(attempt, LoginRefusal.FULL)


@_of_login
def _puts_back_at_the_end(login: Any, queue: Any) -> None:
    """A client that had its turn is the last of the queue when the world is full after all."""
    back_to_queue = login._back_to_queue

    def back_to_the_end(attempt: Any) -> None:
        attempt.number = next(login._numbers)
        back_to_queue(attempt)

    login._back_to_queue = back_to_the_end


QUEUE_MUTATIONS: dict[str, Harm] = {
    "forfeit-places": _forgets_away,
    "serve-the-last": _serves_the_last,
    "keep-left": _keeps_left,
    "keep-vanished": _never_forgets,
    "refuse-when-full": _refuses_when_full_after_all,
    "put-back-at-the-end": _puts_back_at_the_end,
}
