"""Questions to a manager that are repeated until they are answered or refused, or until their time is over.

A link that is lost, a manager that is not linked yet and an answer that does not come cost time, and nothing else: so
only questions are asked this way that may be asked twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from terrazzo.cluster.app import Host
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.requests import Failure, Requests
from terrazzo.wire.schedule import Schedule

ANSWER_S = 5.0
PATIENT_S = 20.0
"""For an answer to a patient question: the manager may have to ask others first."""
AGAIN_S = 0.3

Then = Callable[[Message], None]
OnRefused = Callable[[str, bool], None]
"""Gets the reason; True: the manager has refused, False: there was no answer in time."""


@dataclass
class _Question:
    message: Message
    deadline: float
    then: Then
    refused: OnRefused
    why: str
    is_patient: bool


class Asker:
    """The questions of one app to one manager."""

    def __init__(self, host: Host, requests: Requests, manager: Callable[[], AppId | None], name: str) -> None:
        """`manager` returns the manager of this name while it is linked."""
        self._host = host
        self._requests = requests
        self._manager = manager
        self._name = name
        self._later: Schedule[_Question] = Schedule(lambda question: False)

    def ask(
        self, message: Message, timeout_s: float, then: Then, refused: OnRefused, *, is_patient: bool = False
    ) -> None:
        """Asks; exactly one of the two is called, perhaps at once. With `is_patient`, a refusal is temporary: the
        question is asked again."""
        why = f"the {self._name} is out of reach"
        self._go_on(_Question(message, self._host.now + timeout_s, then, refused, why, is_patient))

    def on_tick(self) -> None:
        """Asks again what is due."""
        for question in self._later.take(self._host.now):
            self._go_on(question)

    def _go_on(self, question: _Question) -> None:
        manager, left_s = self._manager(), question.deadline - self._host.now
        if left_s <= 0:
            question.refused(question.why, False)
        elif manager is None:
            self._ask_later(question)
        else:
            self._requests.ask(
                manager,
                question.message,
                timeout_s=min(PATIENT_S if question.is_patient else ANSWER_S, left_s),
                then=question.then,
                failed=partial(self._on_failure, question),
            )

    def _on_failure(self, question: _Question, failure: Failure, why: str) -> None:
        if failure is Failure.REFUSED and not question.is_patient:
            question.refused(why, True)
        else:
            question.why = why or f"the {self._name} did not answer ({failure.value})"
            self._ask_later(question)

    def _ask_later(self, question: _Question) -> None:
        self._later.add(min(self._host.now + AGAIN_S, question.deadline), question)
