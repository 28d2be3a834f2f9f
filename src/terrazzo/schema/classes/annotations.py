"""From type hints to types: finds the annotations of a class or function, evaluates them, translates them.

Nothing is evaluated when a class is created, only when a schema is built. So hints may be strings (also all of them:
`from __future__ import annotations`), inside others as well (`Array["Item"]`), and may name what is defined later.

What cannot be translated is a Mistake, which the caller notes at the line in question. A Record reports the problems of
its own fields at their own lines; code that uses the Record gets no second error.
"""

from __future__ import annotations

import inspect
import sys
import types as python_types
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, ForwardRef, cast, get_args, get_origin

from terrazzo._speed.values import UserValue
from terrazzo.schema import types
from terrazzo.schema.classes.hints import PLAIN, Refinement
from terrazzo.schema.classes.misnamed import explain_name
from terrazzo.schema.classes.sources import Mistake, Sources
from terrazzo.schema.types import PARTS_MAX, takes_no_bytes


def own_annotations(declared: Any) -> dict[str, Any]:
    """The annotations of a class or function itself, unevaluated as far as Python lets them be."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(declared, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(declared)


def is_class_variable(hint: Any) -> bool:
    """True for ClassVar: not a declaration of a property or field."""
    if isinstance(hint, str):
        return hint.startswith(("ClassVar", "typing.ClassVar"))
    return hint is ClassVar or get_origin(hint) is ClassVar


class Translator:
    """Translates the hints that were written in one place of one module."""

    def __init__(self, sources: Sources, names: Mapping[str, Any], local: Mapping[str, Any] | None = None) -> None:
        self._sources = sources
        self._names = dict(names)
        self._local = local

    @classmethod
    def of_class(cls, sources: Sources, declared: type[Any]) -> Translator:
        """For the hints in the body of a class."""
        return cls(sources, vars(sys.modules[declared.__module__]), vars(declared))

    def evaluate(self, hint: Any) -> Any:
        """A hint with its names looked up: those of the class first, then those of its module."""
        if isinstance(hint, ForwardRef):
            hint = hint.__forward_arg__
        while isinstance(hint, str):  # a quoted hint is quoted twice with `from __future__ import annotations`
            hint = self._evaluate(hint)
        return hint

    def _evaluate(self, hint: str) -> Any:
        try:
            return eval(hint, self._names, self._local)
        except NameError as problem:
            message = f"{explain_name(problem)} (an import only for type checking does not count)"
            raise Mistake("unknown type", message) from None
        except Exception as problem:
            raise Mistake("unknown type", f"{hint} cannot be evaluated: {problem}") from None

    def translate(self, hint: Any) -> types.DataType:
        """The type that a hint means, within the limits that definition files have too."""
        found = self._translate(hint)
        if _parts(found) > PARTS_MAX:
            raise Mistake("type too large", f"a new value of it has more than {PARTS_MAX} parts: make it smaller")
        if _has_uncountable(found):
            raise Mistake("empty element type", "its elements take no bytes: give them a field, or the sequence a Size")
        return found

    def _translate(self, hint: Any) -> types.DataType:
        hint = self.evaluate(hint)
        if hasattr(hint, "__value__") and hasattr(hint, "__type_params__"):
            return self._translate(hint.__value__)  # `type Gold = …` of Python 3.12
        origin = get_origin(hint)
        if origin is Annotated:
            return self._annotated(hint)
        if origin is typing.Union or origin is python_types.UnionType:
            return self._optional(hint)
        if origin in (list, tuple) or hint in (list, tuple):
            return self._sequence(hint)
        if isinstance(hint, type):
            return self._class(hint)
        raise Mistake("unknown type", f"{_spell(hint)} is not a type of values; use {_EXAMPLES}")

    def _annotated(self, hint: Any) -> types.DataType:
        """The first type given in an Annotated counts, then come its refinements, in order."""
        given = next((each for each in hint.__metadata__ if isinstance(each, types.DataType)), None)
        result = self._translate(hint.__origin__) if given is None else given
        for each in hint.__metadata__:
            if isinstance(each, Refinement):
                try:
                    result = each.refine(result)
                except ValueError as problem:
                    raise Mistake(each.kind, str(problem)) from None
        return result

    def _optional(self, hint: Any) -> types.DataType:
        inner = [each for each in get_args(hint) if each is not type(None)]
        if len(inner) == 1:
            result = self._translate(inner[0])
            if isinstance(result, types.RecordType):
                return replace(result, allow_none=True)
            if isinstance(result, (types.RefType, types.PythonType)):
                return result
        raise Mistake("unknown type", f"{_spell(hint)} is not one type: only a Record or a Ref may be None instead")

    def _sequence(self, hint: Any) -> types.DataType:
        args = get_args(hint)
        name = "tuple" if hint is tuple or get_origin(hint) is tuple else "Array"
        if not args:
            raise Mistake("array without of", f"{name} needs the type of its elements: {name}[{_OF[name]}]")
        if name == "Array":
            return types.SequenceType(self._translate(args[0]))
        if args[-1] is Ellipsis:
            return types.SequenceType(self._translate(args[0]), is_tuple=True)
        elements = [self._translate(each) for each in args]
        if any(each != elements[0] for each in elements):
            raise Mistake("unknown type", "the elements of a tuple have one type; use a Record for different ones")
        return types.SequenceType(elements[0], len(elements), is_tuple=True)

    def _class(self, hint: type[Any]) -> types.DataType:
        if hint in PLAIN:
            return PLAIN[hint]
        data_type_of = getattr(hint, "data_type_of", None)
        if data_type_of is not None:
            return cast("types.DataType", data_type_of(self._sources))
        if issubclass(hint, UserValue) and hint is not UserValue:
            return types.UserType(hint.implemented_by, hint)
        raise Mistake("unknown type", f"{_spell(hint)} is not a type of values; use {_EXAMPLES}")


_EXAMPLES = "one of terrazzo's (Int32, Text, Array[…]), or a class derived from Record or UserValue"
_OF = {"Array": "UInt8", "tuple": "UInt8, ..."}


def _spell(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else repr(hint)


def _parts(found: types.DataType) -> int:
    """How many values a new value consists of."""
    if isinstance(found, types.SequenceType):
        return 1 + (found.size or 0) * _parts(found.of)
    return 1 + sum(_parts(each.type) for each in found.fields) if isinstance(found, types.RecordType) else 1


def _has_uncountable(found: types.DataType) -> bool:
    """True for a sequence without size and with elements that take no bytes: a few bytes could stand for millions."""
    if isinstance(found, types.SequenceType):
        return (found.size is None and takes_no_bytes(found.of)) or _has_uncountable(found.of)
    return isinstance(found, types.RecordType) and any(_has_uncountable(each.type) for each in found.fields)
