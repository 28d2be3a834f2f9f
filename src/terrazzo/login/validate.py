"""The invariants of a LoginApp, as they hold between two events.

each session       has sent nothing yet, waits in the queue or has a request in work, never two of these
logins are refused for a load only while a load is above its bound
"""

from __future__ import annotations

from terrazzo.login.admission import AdmissionState
from terrazzo.login.loginapp import LoginApp
from terrazzo.wire.invariants import BrokenInvariant, Share, Violations


def violations(app: LoginApp, share: Share) -> Violations:
    """The invariants of this LoginApp that do not hold."""
    if share.is_first:
        for session in app.waiting_sessions & app.asking_sessions:
            yield BrokenInvariant(0, f"the session of {session.address} waits for its request, and has one in work")
        for session in app.queued_sessions & (app.waiting_sessions | app.asking_sessions):
            yield BrokenInvariant(0, f"the session of {session.address} is in the queue, and elsewhere too")
        if app.admission.state is not AdmissionState.OPEN and not app.admission.over():
            yield BrokenInvariant(0, "logins are refused, and no load is above its bound")
