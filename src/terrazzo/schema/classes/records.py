"""Record: a class that declares the fields of a FIXED_DICT by its annotations.

    class Item(Record):
        kind: UInt32
        count: UInt16 = 1

        uses: UInt8 = field(default=3, to=OWN_CLIENT)

    item = Item(kind=3)         # keyword arguments; a field without a default must be given
    item.count += 1             # checked; where the item is in a property, the change is found and sent

The fields of a parent class come first; one declared again stays where it was. The type of a Record is made when it is
first needed (the first value, or a schema that uses it), because fields may name what is defined later.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, dataclass_transform

from terrazzo._speed.values import RecordValue
from terrazzo.errors import DefinitionError, ValueRejected
from terrazzo.schema import types
from terrazzo.schema.classes.annotations import Translator, is_class_variable, own_annotations
from terrazzo.schema.classes.sources import AlreadyReported, Mistake, Sources
from terrazzo.schema.flags import FIELD_FLAGS, Flags

MISSING: Any = object()


@dataclass(frozen=True)
class FieldOptions:
    """What `field` was given."""

    default: Any
    saved: bool = True
    database_length: int | None = None
    to: Flags | None = None


def field(
    *, default: Any = MISSING, saved: bool = True, database_length: int | None = None, to: Flags | None = None
) -> Any:
    """A field with more options than its default: whether it is saved, the largest length of a text in the database,
    and its receivers (`to`, a flag as properties have) among those of the property that the record is in."""
    return FieldOptions(default, saved, database_length, to)


class RecordMeta(type):
    """The class of Record classes: keeps what was declared, makes the type of it, and values."""

    # Attributes of the class have a leading underscore, which no field may have: they would hide the field.
    _declared: dict[str, FieldOptions]
    """The fields of this class itself."""
    _fields: dict[str, FieldOptions]
    """All fields in order, the parents' first."""
    _required: set[str]
    """The fields that a new value must be given."""
    _type_name: str
    _names: dict[str, Any]
    """The namespace of the hints: the dict of the module, which outlives the module when a game is loaded again."""

    def __init__(
        cls,
        name: str,
        bases: tuple[type, ...],
        space: dict[str, Any],
        *,
        type_name: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__(name, bases, space, **more)
        cls._type_name = type_name or name
        cls._names = vars(sys.modules[cls.__module__])
        cls._declared = {}
        cls._type: types.RecordType | None = None
        cls._in_work = False
        for each, hint in own_annotations(cls).items():
            if is_class_variable(hint):
                continue
            given = cls.__dict__.get(each, MISSING)
            options = given if isinstance(given, FieldOptions) else FieldOptions(given)
            cls._declared[each] = options
            if given is not MISSING:
                # A class attribute would hide the field of the values.
                delattr(cls, each)
        elders = (each for each in reversed(cls.__mro__) if isinstance(each, RecordMeta))
        cls._fields = {field: options for each in elders for field, options in each._declared.items()}
        cls._required = {each for each, options in cls._fields.items() if options.default is MISSING}

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        space: dict[str, Any],
        *,
        type_name: str | None = None,
        **more: Any,
    ) -> RecordMeta:
        """Without the keyword that is for __init__; values have fields only, so they need no dict of their own."""
        return super().__new__(mcs, name, bases, {"__slots__": (), **space}, **more)

    if not TYPE_CHECKING:
        # Type checkers take the constructor from dataclass_transform.

        def __call__(cls, *positional, **fields):
            """A new value without an owner."""
            record_type = cls._type or record_type_of(cls)
            if positional or not cls._required <= fields.keys() <= cls._fields.keys():
                cls._refuse(fields)
            return record_type.codec.make(fields)

    def _refuse(cls, given: dict[str, Any]) -> NoReturn:
        """Raises an error that shows how a value is made."""
        missing = [each for each in cls._fields if each in cls._required and each not in given]
        unknown = [each for each in given if each not in cls._fields]
        wrong = "takes its fields by name"
        if missing or unknown:
            wrong = f"needs {', '.join(missing)}" if missing else f"has no field {', '.join(unknown)}"
        fields = (f"{n}=…" if n in cls._required else f"{n}={o.default!r}" for n, o in cls._fields.items())
        raise ValueRejected(f"{cls.__name__} {wrong}; it is made as {cls.__name__}({', '.join(fields)})")

    def data_type_of(cls, sources: Sources) -> types.RecordType:
        """The FIXED_DICT; raises AlreadyReported if its fields have mistakes, which are then noted at their lines."""
        if cls._type is None:
            if cls._in_work:
                raise Mistake("circular alias", f"{cls.__name__} holds itself: a value of it would never end")
            cls._in_work = True
            try:
                cls._type = _read(cls, sources)
            finally:
                cls._in_work = False
        return cls._type


def record_type_of(cls: RecordMeta) -> types.RecordType:
    """The type of a Record class outside of any schema; a DefinitionError if its fields do not hold."""
    sources = Sources()
    try:
        return cls.data_type_of(sources)
    except AlreadyReported:
        raise DefinitionError(sources.report.errors) from None


def _read(cls: RecordMeta, sources: Sources) -> types.RecordType:
    fields: dict[str, types.Field] = {}
    is_complete = True
    for declarer in reversed(cls.__mro__):
        if not isinstance(declarer, RecordMeta):
            continue
        body, hints = sources.body(declarer), own_annotations(declarer)
        translator = Translator(sources, declarer._names, vars(declarer))
        for name, options in declarer._declared.items():
            try:
                if len(body.names.get(name, [])) > 1:
                    raise Mistake("duplicate field", "declared twice: remove one")
                fields[name] = _field(name, translator.translate(hints[name]), options)
            except AlreadyReported:
                is_complete = False
            except Mistake as mistake:
                is_complete = False
                sources.error(body.place(name), mistake.kind, f"{declarer.__name__}.{name}: {mistake}")
    if not is_complete:
        raise AlreadyReported
    return types.RecordType(tuple(fields.values()), record_class=cls, alias=cls._type_name)


def _field(name: str, type_: types.DataType, options: FieldOptions) -> types.Field:
    if hasattr(RecordValue, name) or name.startswith("_"):
        raise Mistake("reserved name", f"every record has {name} already, or it is private: choose another name")
    if options.to is not None and options.to not in FIELD_FLAGS:
        raise Mistake("unknown flag", f"the receivers of a field are set by a property flag, not by {options.to!r}")
    default = None
    if options.default is not MISSING:
        default = plain_default(type_, options.default, options.database_length)
    return types.Field(name, type_, options.saved, options.database_length, default, options.to)


def plain_default(given_type: types.DataType, given: Any, database_length: int | None) -> Any:
    """A default as plain data, checked against its type; raises Mistake."""
    try:
        types.limited_codec(given_type, database_length).check(given)
        return _plain(given_type, given)
    except ValueRejected as problem:
        raise Mistake("bad default", f"{problem}; correct it, or leave the default out") from None


def _plain(given_type: types.DataType, given: Any) -> Any:
    """Records as dicts, sequences as lists, vectors as tuples: new values are made of it each time."""
    if isinstance(given_type, types.UserType):
        raise ValueRejected(f"the default of {type(given).__name__} is what its new_default() makes")
    if isinstance(given_type, types.RecordType) and given is not None:
        return {each.name: _plain(each.type, given[each.name]) for each in given_type.fields}
    if isinstance(given_type, types.SequenceType):
        return [_plain(given_type.of, each) for each in given]
    return tuple(given) if isinstance(given_type, types.VectorType) else given


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Record(RecordValue, metaclass=RecordMeta):
    """Base of a game's records."""

    __slots__ = ()
