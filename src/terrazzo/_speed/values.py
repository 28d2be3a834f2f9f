"""Values with a link to where they belong: the lists, records and user values inside an entity's properties.

A value is *free* or *owned*. A free one is plain data. When it is put into a property (or into something that is in a
property) it becomes owned: every list, record and user value below gets a link to what holds it, so that an assignment
anywhere, however deep, finds its way up and becomes exactly one Change. When it is taken out, all links of it and
below are cut and it is free again. Links exist only inside owned trees, so a free tree has no reference cycles.

    Slots (one entity part's properties)           owner of the values of properties; calls its listener
      └ TrackedList   self.bag                     ARRAY
          └ RecordValue   self.bag[2]              FIXED_DICT
              └ UserValue   self.bag[2].seal       USER_TYPE

Rules kept here:
- a value is checked (and brought to its canonical form) before anything changes; a refused value changes nothing;
- so it is with a change that is longer, encoded, than the Slots allow: it could not be sent;
- assigning an equal value is no change;
- an owned value is never taken silently into a second place: that is an OwnershipError (assign `value.copy()`);
- a Change carries the encoded new value, taken at the moment of the change, so later edits cannot blur it.

TUPLEs are Python tuples and are assigned whole; what is inside them is *frozen*: it is copied in, and refuses writes.

One source, two forms: this file is also compiled, with the C types of `values.pxd`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from terrazzo.errors import OwnershipError, UsageError, ValueRejected


class Frozen:
    """The owner of what is inside a TUPLE: it lets nothing be changed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "a TUPLE"


FROZEN = Frozen()

LINKS = ("_codec", "_index", "_owner", "_values")

UNLIMITED = 1 << 62
LARGE = 4096
"""Bytes; what is shorter is within any limit."""

WHOLE = 0
NESTED = 1
SLICE = 2


class Change:
    """One change of one property.

    `kind` is WHOLE (the property got a new value), NESTED (a child of the container at `path` did: the one at `start`)
    or SLICE (`container[start:end]` was replaced). `counts[i]` is the number of children of the i-th container on the
    way, the last one being the changed container before the change: the bit-packed form needs them. `payload` is the
    encoded new value, or the encoded new elements one after the other.
    """

    __slots__ = ("counts", "end", "kind", "path", "payload", "prop", "start")

    def __init__(
        self,
        kind: int,
        prop: int,
        path: tuple[int, ...],
        counts: tuple[int, ...],
        start: int,
        end: int,
        payload: bytes,
    ) -> None:
        self.kind = kind
        self.prop = prop
        self.path = path
        self.counts = counts
        self.start = start
        self.end = end
        self.payload = payload

    def __repr__(self) -> str:
        where = "".join(f"[{step}]" for step in self.path)
        if self.kind == NESTED:
            where += f"[{self.start}]"
        elif self.kind == SLICE:
            where += f"[{self.start}:{self.end}]"
        return f"<Change property {self.prop}{where} = {self.payload.hex()}>"


class Slots:
    """The property values of one part of an entity, by their place in its layout."""

    __slots__ = ("change_bytes_max", "codecs", "label", "listener", "names", "values")

    def __init__(self, label: str, names: Any, codecs: Any, values: list[Any], listener: Any) -> None:
        self.label = label
        self.names = names
        self.codecs = codecs
        self.values = values
        self.listener = listener
        self.change_bytes_max = UNLIMITED
        for index, value in enumerate(values):
            adopt(value, self, index)

    def assign(self, index: int, value: Any) -> bool:
        """Give the property at `index` a new value; True when that was a change."""
        codec = self.codecs[index]
        try:
            new = codec.check(value)
        except ValueRejected as problem:
            raise problem.inside(f"{self.label}.{self.names[index]}") from None
        old = self.values[index]
        if old is new or old == new:
            return False
        payload = b"" if self.listener is None else codec.encode(new)
        if len(payload) > self.change_bytes_max:
            refuse_large(f"{self.label}.{self.names[index]}", len(payload), self.change_bytes_max)
        adopt(new, self, index)
        self.values[index] = new
        release(old)
        if self.listener is not None:
            self.listener(Change(WHOLE, index, (), (), 0, 0, payload))
        return True

    def install(self, index: int, value: Any) -> Any:
        """Put in a free value that was decoded from a trusted change, with no Change; gives the old one back, free."""
        old = self.values[index]
        adopt(value, self, index)
        self.values[index] = value
        release(old)
        return old

    def release_all(self) -> None:
        """Cut all links, when the entity is gone: without it the values would only go with the garbage collector."""
        self.listener = None
        for value in self.values:
            release(value)


def adopt(value: Any, owner: Any, index: int) -> None:
    """Link a free value, and everything inside it, to its new owner; if any part is owned already, link nothing."""
    if isinstance(value, TrackedList):
        link_list(value, owner, index)
    elif isinstance(value, RecordValue):
        link_record(value, owner, index)
    elif isinstance(value, UserValue):
        if value._owner is not None:
            refuse_second_owner(value)
        object.__setattr__(value, "_owner", owner)
        object.__setattr__(value, "_index", index)


def link_list(value: TrackedList, owner: Any, index: int) -> None:
    """`adopt` for lists."""
    if value._owner is not None:
        refuse_second_owner(value)
    value._owner = owner
    value._index = index
    if value._codec.element.holds:
        done = 0
        try:
            for child in value:
                adopt(child, value, 0)
                done += 1
        except OwnershipError:
            for child in value[:done]:
                release(child)
            value._owner = None
            raise


def link_record(value: RecordValue, owner: Any, index: int) -> None:
    """`adopt` for records."""
    if value._owner is not None:
        refuse_second_owner(value)
    value._owner = owner
    value._index = index
    done = 0
    try:
        for place in value._codec.holders:
            adopt(value._values[place], value, place)
            done += 1
    except OwnershipError:
        for place in value._codec.holders[:done]:
            release(value._values[place])
        value._owner = None
        raise


def release(value: Any) -> None:
    """Cut the links of a value and of everything inside it."""
    relink(value, None)


def freeze(value: Any) -> None:
    """Mark a free value that is going into a TUPLE, and everything inside it, as not to be changed."""
    relink(value, FROZEN)


def relink(value: Any, owner: Any) -> None:
    """Give a value and everything inside it the same owner: None or FROZEN."""
    if isinstance(value, TrackedList):
        relink_list(value, owner)
    elif isinstance(value, RecordValue):
        relink_record(value, owner)
    elif isinstance(value, UserValue):
        object.__setattr__(value, "_owner", owner)


def relink_list(value: TrackedList, owner: Any) -> None:
    """`relink` for lists."""
    value._owner = owner
    if value._codec.element.holds:
        for child in value:
            relink(child, owner)


def relink_record(value: RecordValue, owner: Any) -> None:
    """`relink` for records."""
    value._owner = owner
    for place in value._codec.holders:
        relink(value._values[place], owner)


def new_record(cls: Any, codec: Any, values: tuple[Any, ...]) -> Any:
    """A free record of checked field values, without calling the `__init__` of a game's class."""
    record: RecordValue = cls.__new__(cls)
    record._codec = codec
    record._values = values
    record._owner = None
    record._index = 0
    return record


def refuse_second_owner(value: Any) -> NoReturn:
    """Raise, with where the value is and what to do."""
    raise OwnershipError(
        f"this value already belongs to {describe(value)} and cannot be in two places: assign a copy (value.copy())"
    )


def describe(value: Any) -> str:
    """Where an owned value is, as a programmer would write it: Avatar.bag[2].seal."""
    trail: list[str] = []
    while value is not None and not isinstance(value, Frozen):
        owner = value._owner
        if isinstance(owner, Slots):
            trail.append(f"{owner.label}.{owner.names[value._index]}")
            break
        if isinstance(owner, TrackedList):
            # A value that is given twice in one assignment is linked already, but not in the list yet.
            trail.append(next((f"[{index}]" for index, each in enumerate(owner) if each is value), "[…]"))
        elif isinstance(owner, RecordValue):
            trail.append(f".{owner._codec.names[value._index]}")
        else:
            trail.append(value._codec.name if isinstance(value, (TrackedList, RecordValue)) else type(value).__name__)
        value = owner
    return "".join(reversed(trail))


def place_in(owner: TrackedList, child: Any) -> int:
    """The index of a child in its list, by identity: neighbours come and go, so it is not kept."""
    for index, each in enumerate(owner):
        if each is child:
            return index
    raise AssertionError("an owned value is not in the list that owns it")


def emit(value: Any, kind: int, count: int, start: int, end: int, payload: bytes) -> None:
    """Call the listener of the entity: the owned container `value` was changed."""
    path: list[int] = []
    counts: list[int] = [count]
    owner = value._owner
    while not isinstance(owner, Slots):
        if isinstance(owner, TrackedList):
            path.append(place_in(owner, value))
            counts.append(len(owner))
        else:
            path.append(value._index)
            counts.append(len(owner._values))
        value = owner
        owner = value._owner
    if owner.listener is not None:
        path.reverse()
        counts.reverse()
        owner.listener(Change(kind, value._index, tuple(path), tuple(counts), start, end, payload))


def check_size(value: Any, payload: bytes) -> None:
    """Refuse a change of the owned container `value` that is too long, before it is made."""
    top = value
    while not isinstance(top, Slots):
        top = top._owner
    if top.listener is not None and len(payload) > top.change_bytes_max:
        refuse_large(describe(value), len(payload), top.change_bytes_max)


def refuse_large(what: str, size: int, most: int) -> NoReturn:
    """Raise, with how large a change may be and what to do."""
    raise UsageError(
        f"this change of {what} takes {size} bytes, and the most is {most}: it could not be sent to others; "
        "change it in parts, or keep it in the base"
    )


def refuse_frozen(value: Any) -> NoReturn:
    """Writes to what is inside a TUPLE."""
    raise UsageError(f"{type(value).__name__} is inside a TUPLE, which cannot be changed in place: assign a new tuple")


class RecordValue:
    """The value of a FIXED_DICT: fields by attribute (`item.count`) or by name (`item["count"]`)."""

    __slots__ = ("_codec", "_index", "_owner", "_values")

    _codec: Any
    _index: int
    _owner: Any
    _values: tuple[Any, ...]

    if not TYPE_CHECKING:  # a checker has the fields of a Record class, and should find a wrong name

        def __getattr__(self, name: str) -> Any:
            place = self._codec.places.get(name)
            if place is None:
                raise AttributeError(no_such_field(self, name))
            return self._values[place]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in LINKS:  # only in the plain form: compiled code writes these directly
            object.__setattr__(self, name, value)
            return
        place = self._codec.places.get(name)
        if place is None:
            raise AttributeError(no_such_field(self, name))
        set_field(self, place, value)

    def __getitem__(self, name: str) -> Any:
        place = self._codec.places.get(name)
        if place is None:
            raise KeyError(no_such_field(self, name))
        return self._values[place]

    def __setitem__(self, name: str, value: Any) -> None:
        place = self._codec.places.get(name)
        if place is None:
            raise KeyError(no_such_field(self, name))
        set_field(self, place, value)

    def __iter__(self) -> Any:
        return iter(self._codec.names)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._codec.places

    def keys(self) -> Any:
        """The names of the fields: `dict(record)` works."""
        return self._codec.names

    def copy(self) -> Any:
        """A free copy, with copies of everything inside."""
        return self._codec.copy(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._codec.copy(self)

    def __copy__(self) -> Any:
        return self._codec.copy(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RecordValue):
            if self._codec is other._codec or self._codec.names == other._codec.names:
                return bool(self._values == other._values)
            return False
        if isinstance(other, dict):
            return len(other) == len(self._values) and all(
                name in other and other[name] == value
                for name, value in zip(self._codec.names, self._values, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{n}={v!r}" for n, v in zip(self._codec.names, self._values, strict=True))
        return f"{self._codec.name}({inside})"


def no_such_field(record: RecordValue, name: str) -> str:
    """The text of the error for a field that does not exist."""
    return f"{record._codec.name} has no field {name!r}; it has {', '.join(record._codec.names) or 'none'}"


def set_field(record: RecordValue, place: int, value: Any) -> None:
    """Assign one field."""
    owner = record._owner
    if owner is FROZEN:
        refuse_frozen(record)
    codec = record._codec.codecs[place]
    try:
        new = codec.check(value)
    except ValueRejected as problem:
        raise problem.inside(f"{describe(record)}.{record._codec.names[place]}") from None
    values = record._values
    old = values[place]
    if old is new or old == new:
        return
    payload = b"" if owner is None else codec.encode(new)
    if len(payload) > LARGE:
        check_size(record, payload)
    install_field(record, place, new)
    if owner is not None:
        emit(record, NESTED, len(values), place, 0, payload)


def install_field(record: RecordValue, place: int, new: Any) -> Any:
    """Put a checked, free value into a field, with no Change; gives the old one back, free."""
    values = record._values
    old = values[place]
    join(new, record, place)
    record._values = (*values[:place], new, *values[place + 1 :])
    release(old)
    return old


class TrackedList(list):  # type: ignore[type-arg]
    """The value of an ARRAY: a list with checked elements and a link to its owner."""

    __slots__ = ("_codec", "_index", "_owner")

    _codec: Any
    _index: int
    _owner: Any

    def __init__(self, codec: Any, items: Any = ()) -> None:
        """From elements that are checked already; `codec.check(plain_list)` is the way to make one."""
        list.__init__(self, items)
        self._codec = codec
        self._owner = None
        self._index = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                items = list(self)
                items[key] = value
                splice(self, 0, len(self), items)
            else:
                splice(self, start, max(start, stop), value)
        else:
            index = existing(self, key)
            set_element(self, index, value)

    def __delitem__(self, key: Any) -> None:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                splice(self, start, max(start, stop), ())
            else:
                items = list(self)
                del items[key]
                splice(self, 0, len(self), items)
        else:
            index = existing(self, key)
            splice(self, index, index + 1, ())

    def append(self, value: Any) -> None:
        """Add one element at the end."""
        splice(self, len(self), len(self), (value,))

    def extend(self, values: Any) -> None:
        """Add elements at the end: one change."""
        splice(self, len(self), len(self), values)

    def insert(self, index: Any, value: Any) -> None:
        """Add one element before `index`."""
        place = slice(index, None).indices(len(self))[0]
        splice(self, place, place, (value,))

    def pop(self, index: Any = -1) -> Any:
        """Take one element out; it is free afterwards."""
        place = existing(self, index)
        value = list.__getitem__(self, place)
        splice(self, place, place + 1, ())
        return value

    def remove(self, value: Any) -> None:
        """Take the first equal element out."""
        place = self.index(value)
        splice(self, place, place + 1, ())

    def clear(self) -> None:
        """Take everything out."""
        splice(self, 0, len(self), ())

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort in place: one change."""
        splice(self, 0, len(self), sorted(self, key=key, reverse=reverse))

    def reverse(self) -> None:
        """Reverse in place: one change."""
        splice(self, 0, len(self), list(self)[::-1])

    def __iadd__(self, values: Any) -> Any:  # type: ignore[misc]
        splice(self, len(self), len(self), values)
        return self

    def __imul__(self, factor: Any) -> Any:  # type: ignore[misc]
        copies = [self._codec.element.copy(each) for _ in range(factor - 1) for each in self]
        if factor > 0:
            splice(self, len(self), len(self), copies)
        else:
            splice(self, 0, len(self), ())
        return self

    def copy(self) -> Any:
        """A free copy, with copies of everything inside."""
        return self._codec.copy(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._codec.copy(self)

    def __copy__(self) -> Any:
        return self._codec.copy(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (list, (list(self),))


def existing(array: TrackedList, key: Any) -> int:
    """The place of an element that exists, counted from the front."""
    place = key.__index__()
    if place < 0:
        place += len(array)
    if not 0 <= place < len(array):
        raise IndexError(f"{array._codec.name} has {len(array)} elements, none at {key}")
    return place  # type: ignore[no-any-return]


def set_element(array: TrackedList, index: int, value: Any) -> None:
    """Assign one element."""
    owner = array._owner
    if owner is FROZEN:
        refuse_frozen(array)
    codec = array._codec.element
    try:
        new = codec.check(value)
    except ValueRejected as problem:
        raise problem.inside(f"{describe(array)}[{index}]") from None
    old = list.__getitem__(array, index)
    if old is new or old == new:
        return
    payload = b"" if owner is None else codec.encode(new)
    if len(payload) > LARGE:
        check_size(array, payload)
    install_element(array, index, new)
    if owner is not None:
        emit(array, NESTED, len(array), index, 0, payload)


def install_element(array: TrackedList, index: int, new: Any) -> Any:
    """Put a checked, free value into a list, with no Change; gives the old one back, free."""
    old = list.__getitem__(array, index)
    join(new, array, 0)
    list.__setitem__(array, index, new)
    release(old)
    return old


def splice(array: TrackedList, start: int, end: int, values: Any) -> None:
    """`array[start:end] = values`, the one way in which a list grows, shrinks and is reordered."""
    owner = array._owner
    if owner is FROZEN:
        refuse_frozen(array)
    sequence = array._codec
    count = len(array)
    new = list(values)
    if sequence.size >= 0 and len(new) != end - start:
        raise ValueRejected(
            f"expected {sequence.name} to keep its {sequence.size} elements, got {len(new)} elements for {end - start}"
        ).inside(describe(array))
    sequence.check_count(count - (end - start) + len(new))
    old = list.__getitem__(array, slice(start, end))
    codec = sequence.element
    for place, value in enumerate(new):
        try:
            new[place] = codec.check(value)
        except ValueRejected as problem:
            raise problem.inside(f"{describe(array)}[{start + place}]") from None
    if old == new:
        return
    payload = b"" if owner is None else sequence.encode_elements(new)
    if len(payload) > LARGE:
        check_size(array, payload)
    install_slice(array, start, end, new)
    if owner is not None:
        emit(array, SLICE, count, start, end, payload)


def install_slice(array: TrackedList, start: int, end: int, new: list[Any]) -> list[Any]:
    """Put checked, free values in the place of some elements, with no Change; gives the old ones back, free.

    An element may be among the old and the new ones (a list that is sorted). On refusal everything is as it was.
    """
    old = list.__getitem__(array, slice(start, end))
    for child in old:
        release(child)
    done = 0
    try:
        for child in new:
            join(child, array, 0)
            done += 1
    except OwnershipError:
        for child in new[:done]:
            release(child)
        for child in old:
            join(child, array, 0)
        raise
    list.__setitem__(array, slice(start, end), new)
    return old


def join(value: Any, container: Any, index: int) -> None:
    """Make a free value part of a container: it becomes what the container is, owned, frozen or free."""
    owner = container._owner
    if owner is FROZEN:
        freeze(value)
    elif owner is not None:
        adopt(value, container, index)


class UserValue:
    """Base of a game's own value classes (USER_TYPE).

    A subclass defines how a value becomes bytes and comes back; assigning an attribute (one without a leading
    underscore) of a value that is in a property is a change of the whole value.
    """

    _owner: Any = None
    _index: int = 0
    implemented_by: str = ""

    def __init_subclass__(cls, implemented_by: str | None = None, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.implemented_by = implemented_by or f"{cls.__module__}.{cls.__qualname__}"

    def to_stream(self) -> bytes:
        """The value as bytes, for other processes and clients."""
        raise NotImplementedError(f"{type(self).__name__} needs a method to_stream(self) -> bytes")

    @classmethod
    def from_stream(cls, data: bytes) -> Any:
        """The value of such bytes. They may come from anyone: raise ValueError for what is not acceptable."""
        raise NotImplementedError(f"{cls.__name__} needs a class method from_stream(cls, data)")

    @classmethod
    def new_default(cls) -> Any:
        """A new default value."""
        return cls()

    def to_database(self) -> bytes:
        """The value as stored; the stream form unless the class overrides this."""
        return self.to_stream()

    @classmethod
    def from_database(cls, data: bytes) -> Any:
        """The value of stored bytes."""
        return cls.from_stream(data)

    def copy(self) -> Any:
        """A free copy."""
        return self.from_stream(self.to_stream())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self.to_stream() == other.to_stream())

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or self._owner is None:
            object.__setattr__(self, name, value)
            return
        if self._owner is FROZEN:
            refuse_frozen(self)
        before = self.to_stream()
        object.__setattr__(self, name, value)
        self.changed(before)

    def changed(self, before: bytes | None = None) -> None:
        """Report that the value changed in a way attribute assignment does not show (`self.words.append(…)`)."""
        owner = self._owner
        if owner is None or (before is not None and before == self.to_stream()):
            return
        if owner is FROZEN:
            refuse_frozen(self)
        if isinstance(owner, Slots):
            if owner.listener is not None:
                payload = owner.codecs[self._index].encode(self)
                owner.listener(Change(WHOLE, self._index, (), (), 0, 0, payload))
        elif isinstance(owner, TrackedList):
            place = place_in(owner, self)
            emit(owner, NESTED, len(owner), place, 0, owner._codec.element.encode(self))
        else:
            payload = owner._codec.codecs[self._index].encode(self)
            emit(owner, NESTED, len(owner._values), self._index, 0, payload)
