"""The invariants of a LoginApp: a session has sent nothing yet or has a request in work, never both."""

from __future__ import annotations

from terrazzo.login.loginapp import LoginApp
from terrazzo.wire.invariants import BrokenInvariant, Share, Violations


def violations(app: LoginApp, share: Share) -> Violations:
    """The invariants of this LoginApp that do not hold."""
    if share.is_first:
        for session in app.waiting_sessions & app.asking_sessions:
            yield BrokenInvariant(0, f"the session of {session.address} waits for its request, and has one in work")
