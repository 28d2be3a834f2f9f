"""Which form of the kernels runs: the plain one is some times slower, and tests that enumerate take fewer cases with
it. The compiled run has them all."""

from __future__ import annotations

from terrazzo._speed import area

IS_PLAIN = (area.__file__ or "").endswith(".py")
