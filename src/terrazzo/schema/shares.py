"""Shares: what each receiver gets of a value that has fields for different receivers.

A field of a record may be for fewer receivers than the property that the record is in:

    class Item(Record):                                  bag: Array[Item] = prop(ALL_CLIENTS)
        kind: UInt32                                          real   ghosts   own client   other clients
        uses: UInt8 = field(default=1, to=OWN_CLIENT)     kind  x       x         x              x
        curse: UInt8 = field(default=0, to=CELL_PUBLIC)   uses  x                 x
                                                          curse x       x

A flag of a field only excludes receivers: a receiver that does not get the property, or a record around the field, gets
no field in it. Real, base and database have the whole value.

A receiver's share of a type is the same type with `HiddenType` in the place of what is not for it. So a message has not
a byte of a hidden field; the receiver has the default there; and a path inside a value has the same indexes for all
receivers. A record without a visible field is hidden as a whole, and so is a sequence of such records, including its
length.

Shares are derived once for each type. A type without such fields is its own share, and costs nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from terrazzo._speed.codec import LENGTH_MAX, Codec, HiddenCodec, RecordCodec
from terrazzo._speed.values import NESTED, SLICE, Change
from terrazzo.schema.flags import Flags, Receiver
from terrazzo.schema.types import DataType, Field, HiddenType, RecordType, SequenceType, contains, takes_no_bytes


def share(data_type: DataType, receiver: Receiver) -> DataType:
    """The type of a receiver's share: the type itself if the share is everything, a HiddenType if it is nothing."""
    shares = data_type.known_shares
    if receiver not in shares:
        made = _made(data_type, receiver)
        # Receivers that get the same have the same object, and so the same codec: then nothing is encoded twice.
        shares[receiver] = next((each for each in (data_type, *shares.values()) if each == made), made)
    return shares[receiver]


def _made(data_type: DataType, receiver: Receiver) -> DataType:
    if isinstance(data_type, SequenceType):
        element = share(data_type.of, receiver)
        if not isinstance(element, HiddenType):
            return replace(data_type, of=element)
    elif isinstance(data_type, RecordType):
        made = replace(data_type, fields=tuple(_field(each, receiver) for each in data_type.fields))
        if takes_no_bytes(data_type) or not takes_no_bytes(made):
            return made
    else:
        return data_type
    return HiddenType(data_type, preset=data_type.preset)


def _field(field: Field, receiver: Receiver) -> Field:
    shared = share(field.type, receiver)
    if isinstance(shared, HiddenType) or not (field.to is None or receiver.gets(field.to)):
        shared = HiddenType(field.type, preset=field.plain_default)
    return replace(field, type=shared)


def has_shares(data_type: DataType) -> bool:
    """Whether some receiver gets less than everything."""
    return any(share(data_type, each) is not data_type for each in Receiver)


def client_shares(data_type: DataType, flags: Flags) -> Iterable[DataType]:
    """What clients get of a property of this type and these flags: one form, or two."""
    receivers = (each for each in (Receiver.OWN_CLIENT, Receiver.OTHER_CLIENTS) if each.gets(flags))
    return {id(each): each for each in (share(data_type, receiver) for receiver in receivers)}.values()


def sends(data_type: DataType, flags: Flags, wanted: type[DataType]) -> bool:
    """Whether a property of this type and these flags sends clients something of the wanted class."""
    return any(contains(each, wanted) for each in client_shares(data_type, flags))


def hidden_fields(shared: DataType, name: str = "") -> list[str]:
    """What a share lacks: dotted names of fields, "*" for everything."""
    if isinstance(shared, HiddenType):
        return [name or "*"]
    if isinstance(shared, SequenceType):
        return hidden_fields(shared.of, name)
    fields = shared.fields if isinstance(shared, RecordType) else ()
    return [
        each for field in fields for each in hidden_fields(field.type, f"{name}.{field.name}" if name else field.name)
    ]


def share_of(change: Change, given: Codec, wanted: Codec) -> Change | None:
    """A change of a value of one share, reduced to a smaller share; None: nothing of it is in that share.

    `given` and `wanted` are the codecs of the property. Where both are the same there is nothing to do.
    """
    if given is wanted:
        return change
    if not is_for(change, wanted):
        return None
    for step in _steps(change):
        given, wanted = _child(given, step), _child(wanted, step)
    if given is wanted:
        return change
    return Change(
        change.kind, change.prop, change.path, change.counts, change.start, change.end,
        _payload(change, given, wanted),
    )  # fmt: skip


def is_for(change: Change, wanted: Codec) -> bool:
    """Whether any part of a change is in the share of this codec of the property."""
    for step in _steps(change):
        if isinstance(wanted, HiddenCodec):
            return False
        wanted = _child(wanted, step)
    return not isinstance(wanted, HiddenCodec)


def _steps(change: Change) -> tuple[int, ...]:
    """The path from the property to the changed value, or to the list of which a slice is changed."""
    return (*change.path, change.start) if change.kind == NESTED else change.path


def _child(codec: Any, index: int) -> Codec:
    return codec.codecs[index] if isinstance(codec, RecordCodec) else codec.element


def _payload(change: Change, given: Any, wanted: Any) -> bytes:
    if change.kind == SLICE:
        return bytes(wanted.encode_elements(given.decode_elements(change.payload, 0, LENGTH_MAX)))
    return bytes(wanted.encode(given.decode(change.payload)))


def share_of_value(value: Any, wanted: Codec) -> Any:
    """A free copy of a value with no more of it than a receiver gets."""
    return wanted.decode(wanted.encode(value))
