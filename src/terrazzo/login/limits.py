"""The limits of a LoginApp."""

from __future__ import annotations

from dataclasses import dataclass, field

from terrazzo.login.admission import AdmissionLimits
from terrazzo.login.queue import QueueLimits


@dataclass(frozen=True)
class LoginLimits:
    """How many attempts, and how long each may wait."""

    asked_max: int = 200
    known_max: int = 50
    """Attempts in work from known addresses, beside `asked_max` from all others."""
    request_s: float = 10.0
    log_on_s: float = 15.0
    attempts_per_s: float = 1.0
    """Attempts from one address after its burst."""
    attempts_burst: int = 20
    total_per_s: float = 500.0
    """Attempts from all addresses; a second's worth at once."""
    answers_kept_s: float = 15.0
    """How long an answer is kept for the same request."""
    answers_max: int = 2000
    admission: AdmissionLimits = field(default_factory=AdmissionLimits)
    queue: QueueLimits = field(default_factory=QueueLimits)
