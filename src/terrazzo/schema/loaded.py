"""What a front door returns: the schema as far as it could be read, and everything that was wrong with the
definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType

from terrazzo.errors import DefinitionError, Problem
from terrazzo.schema.model import Schema


@dataclass(frozen=True)
class Loaded:
    """The result of reading definitions. Loading never stops at the first mistake: all are listed."""

    schema: Schema
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    modules: Mapping[str, ModuleType] = field(default_factory=dict)
    """The modules of a game written in Python, as they were imported."""

    def checked(self) -> Schema:
        """The schema, or a DefinitionError that lists every mistake."""
        if self.errors:
            raise DefinitionError(self.errors)
        return self.schema
