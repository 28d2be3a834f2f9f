"""Reads what one class declares: the properties in the body of a declaration, the remote methods of a part.

Every mistake is noted at its line and the thing it concerns is left out, so that one mistake is one error.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from math import inf
from typing import Any, get_args, get_origin

from terrazzo.schema import types
from terrazzo.schema.classes.annotations import Translator, is_class_variable, own_annotations
from terrazzo.schema.classes.declare import SETTINGS, ComponentUse, Declaration, PropertyOptions
from terrazzo.schema.classes.parts import EntityPart, RemoteMethod, RemoteOptions, remote_methods
from terrazzo.schema.classes.records import plain_default
from terrazzo.schema.classes.sources import AlreadyReported, Mistake, Sources
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import Argument, Exposed, Index, Method, Property, Side, SourcePlace
from terrazzo.schema.report import did_you_mean
from terrazzo.schema.shares import has_shares, sends

_INDEXES = {False: Index.NONE, True: Index.INDEXED, "unique": Index.UNIQUE}
_AUDIENCES: dict[Any, Exposed] = {
    Flags.OWN_CLIENT: Exposed.OWN_CLIENT,
    Flags.ALL_CLIENTS: Exposed.ALL_CLIENTS,
    **{each: each for each in Exposed},
}
_IDLE: dict[str, Any] = {"indexed": False, "editable": False, "replay": None}
"""Options of properties that have no effect yet."""
_HEADER_SIZES = (1, 2, 3, 4)
_NO_REFS = "a Ref may not be sent to clients: send what the client needs of it"
_SENDABLE = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


def read_properties(sources: Sources, cls: type[Declaration]) -> list[Property]:
    """The properties that the class itself declares, in order."""
    body, hints, given = sources.body(cls), own_annotations(cls), vars(cls)
    translator = Translator.of_class(sources, cls)
    found = []
    for name, hint in hints.items():
        if _is_other(name, hint, given.get(name)):
            continue
        place = body.place(name)
        try:
            _check_name(cls, name, body.names.get(name, []))
            found.append(_property(translator, name, hint, given.get(name), place))
            _warn_of_loss(sources, place, name, given[name])
            for option, usual in _IDLE.items():
                if getattr(given[name], option) != usual:
                    warn_of_idle(sources, place, f"{cls.__name__}.{name}: {option}")
        except AlreadyReported:
            continue
        except Mistake as mistake:
            sources.error(place, mistake.kind, f"{cls.__name__}.{name}: {mistake}")
    for name, value in given.items():
        if isinstance(value, PropertyOptions) and name not in hints:
            sources.error(
                body.place(name),
                "property without type",
                f"{cls.__name__}.{name} has no type: {name}: Int32 = prop(…)",
            )
    return found


def _is_other(name: str, hint: Any, value: Any) -> bool:
    """True for an annotation that is no property: a class variable, setting, component, or private."""
    if isinstance(value, PropertyOptions):
        return False
    return name in SETTINGS or name.startswith("_") or isinstance(value, ComponentUse) or is_class_variable(hint)


def _check_name(cls: type[Declaration], name: str, lines: list[int]) -> None:
    if name in SETTINGS or name.startswith("_"):
        raise Mistake("reserved name", "the name means something else here: choose another")
    if len(lines) > 1:
        raise Mistake("duplicate property", f"declared twice in {cls.__name__}, first in line {lines[0]}: remove one")


def _property(translator: Translator, name: str, hint: Any, given: Any, place: SourcePlace) -> Property:
    if not isinstance(given, PropertyOptions) or given.flags is None:
        raise Mistake("property without flags", f"set its flags: {name}: … = prop(ALL_CLIENTS)")
    if not isinstance(given.flags, Flags):
        raise Mistake(
            "unknown flag",
            f"{given.flags!r} is not a property flag{did_you_mean(str(given.flags), Flags.__members__)}",
        )
    if not isinstance(given.indexed, (bool, str)) or given.indexed not in _INDEXES:
        raise Mistake("bad index", f'indexed is True, False or "unique", not {given.indexed!r}')
    _check_sizes(given.header_size, given.database_length)
    type_ = translator.translate(hint)
    if given.unique and not isinstance(type_, (types.TextType, types.BytesType)):
        raise Mistake("bad identifier", "unique fills it with the name of the account: make it a Text or String")
    if sends(type_, given.flags, types.RefType):
        raise Mistake("mailbox in client data", _NO_REFS)
    default = None
    if given.default is not None:
        default = plain_default(type_, given.default, given.database_length if given.saved else None)
    return Property(
        name=name,
        type=type_,
        flags=given.flags,
        default=default,
        persistent=given.saved,
        identifier=given.unique,
        indexed=_INDEXES[given.indexed],
        database_length=given.database_length,
        detail_level=given.detail,
        send_latest_only=given.latest_only,
        is_reliable=given.reliable,
        header_size=given.header_size,
        editable=given.editable,
        exposed_for_replay=given.replay,
        place=place,
    )


def _check_sizes(header_size: Any, database_length: Any = None) -> None:
    if header_size not in _HEADER_SIZES:
        raise Mistake("bad header size", f"header_size is 1 to 4 bytes, not {header_size!r}")
    if database_length is not None and not (isinstance(database_length, int) and database_length > 0):
        raise Mistake("bad number", f"database_length is a whole number above zero, not {database_length!r}")


def _warn_of_loss(sources: Sources, place: SourcePlace, name: str, given: PropertyOptions | RemoteOptions) -> None:
    if not given.reliable and not given.latest_only:
        message = f"what is lost of {name} is never made good, as all of it is sent: add latest_only=True"
        sources.report.warn(place, "unreliable without latest_only", message, subject=name)


def warn_of_idle(sources: Sources, place: SourcePlace, what: str) -> None:
    """Note an option that is accepted but has no effect."""
    sources.report.warn(place, "no effect yet", f"{what} has no effect yet: leave it out", subject=what)


def read_methods(sources: Sources, part: type[EntityPart]) -> Iterator[Method]:
    """The methods that a part declares for its own type, its mixins' first, in order."""
    for declared in remote_methods(part):
        body = sources.body(declared.declarer)
        place = body.place(declared.name)
        try:
            if len(body.names.get(declared.name, [])) > 1:
                raise Mistake("duplicate method", "defined twice in the class: remove one")
            method = _method(sources, declared, part._side, place)
        except AlreadyReported:
            continue
        except Mistake as mistake:
            sources.error(place, mistake.kind, f"{declared.declarer.__name__}.{declared.name}: {mistake}")
        else:
            if method is not None:
                yield method


def _method(sources: Sources, declared: RemoteMethod, side: Side, place: SourcePlace) -> Method | None:
    """The method, or None where its arguments have mistakes, which were then noted at their own lines."""
    options = declared.options
    audience = _audience(options.to, side)
    if not inspect.isfunction(declared.function):
        raise Mistake("bad method", "only a plain method (with self) can be called from elsewhere")
    _check_sizes(options.header_size)
    _check_rate(options.rate)
    _warn_of_loss(sources, place, declared.name, options)
    translator = Translator(sources, declared.function.__globals__, vars(declared.declarer))
    returns = _returns(translator, own_annotations(declared.function).get("return"))
    what = f"{declared.declarer.__name__}.{declared.name}"
    if side is Side.CLIENT and returns:
        warn_of_idle(sources, place, f"{what}: the result of a client's method")
    if side is not Side.CLIENT and options.detail_distance is not None:
        warn_of_idle(sources, place, f"{what}: detail_distance of a method that is not a client's")
    args = [
        _argument(sources, translator, declared, each, to_client=side is Side.CLIENT)
        for each in list(inspect.signature(declared.function).parameters.values())[1:]
    ]
    good = tuple(each for each in args if each is not None)
    if len(good) < len(args):
        return None
    return Method(
        name=declared.name,
        args=good,
        returns=returns,
        exposed=audience,
        detail_distance=options.detail_distance,
        send_latest_only=options.latest_only,
        is_reliable=options.reliable,
        header_size=options.header_size,
        rate=options.rate,
        place=place,
    )


def _check_rate(rate: Any) -> None:
    if rate is None:
        return
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < inf:
        raise Mistake("bad rate", f"rate is how many calls a second one client may make, above 0, not {rate!r}")


def _audience(to: Any, side: Side) -> Exposed:
    audience = _AUDIENCES.get(to) if isinstance(to, (Flags, Exposed)) else None
    if audience is None:
        raise Mistake("unknown exposure", f"a method is exposed to OWN_CLIENT or ALL_CLIENTS, not to {to!r}")
    if side is Side.CLIENT and audience is not Exposed.NO:
        raise Mistake("unknown exposure", "a client's methods are called by the server: use @remote")
    if side is Side.BASE and audience is Exposed.ALL_CLIENTS:
        raise Mistake("unknown exposure", "only the own client can call a base method: leave ALL_CLIENTS out")
    return audience


def _argument(
    sources: Sources,
    translator: Translator,
    declared: RemoteMethod,
    given: inspect.Parameter,
    *,
    to_client: bool,
) -> Argument | None:
    try:
        if given.kind not in _SENDABLE or given.default is not given.empty:
            spelled = f"{given.name}={given.default!r}" if given.default is not given.empty else f"{given}"
            raise Mistake("bad argument", f"{spelled} cannot be sent: every argument has one name and no default")
        hints = own_annotations(declared.function)
        if given.name not in hints:
            raise Mistake("argument without type", f"{given.name} names no type: write {given.name}: Int32")
        type_ = translator.translate(hints[given.name])
        if to_client and types.contains(type_, types.RefType):
            raise Mistake("mailbox in client data", _NO_REFS)
        if to_client and has_shares(type_):
            message = f"{declared.name} sends all of {type_.spell()}: the `to` of its fields is for properties"
            place = sources.body(declared.declarer).place(declared.name, given.name)
            sources.report.warn(place, "whole record in client call", message, subject=declared.name)
    except AlreadyReported:
        return None
    except Mistake as mistake:
        place = sources.body(declared.declarer).place(declared.name, given.name)
        sources.error(place, mistake.kind, f"{declared.declarer.__name__}.{declared.name}: {mistake}")
        return None
    return Argument(type_, given.name)


def _returns(translator: Translator, hint: Any) -> tuple[Argument, ...]:
    """None is no return value, a tuple of fixed length as many as it has, anything else one."""
    hint = translator.evaluate(hint)
    if hint is None or hint is type(None):
        return ()
    inner = get_args(hint) if get_origin(hint) is tuple else ()
    several = inner if inner and inner[-1] is not Ellipsis else (hint,)
    return tuple(Argument(translator.translate(each)) for each in several)
