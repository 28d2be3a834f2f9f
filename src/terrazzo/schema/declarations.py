"""The declarations of an entity type: the content of one .def file, or of several laid together.

`absorb` lays a later file over earlier ones: the parent first, then each interface, then the file itself.

    property         declared again: replaced where it stands, so that it keeps its place in every order
    method           declared again: the first stays
    level of detail  same label: updated
    Volatile         as a whole
    the rest         the last one counts
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from terrazzo.schema.model import DetailLevel, Method, Property, Side, SourcePlace, Volatile
from terrazzo.schema.report import Report


@dataclass(frozen=True)
class Reference:
    """The name of another file, and where it was named."""

    name: str
    place: SourcePlace


@dataclass
class SingleSettings:
    """Settings that a file has at most once; None: it has no such setting."""

    volatile: Volatile | None = None
    appeal_radius: float | None = None
    internal_compression: int | None = None
    external_compression: int | None = None
    is_manual_aoi: bool | None = None
    detailed_volatile_position: bool | None = None
    persistent: bool | None = None
    explicit_database_id: bool | None = None


@dataclass
class Declarations:
    """The content of one file, or of several together."""

    parent: Reference | None = None
    interfaces: list[Reference] = field(default_factory=list)
    properties: dict[str, Property] = field(default_factory=dict)
    detail_places: dict[str, SourcePlace] = field(default_factory=dict)
    """Where a property names its level of detail."""
    methods: dict[Side, dict[str, Method]] = field(default_factory=lambda: {side: {} for side in Side})
    levels: dict[str, tuple[DetailLevel, SourcePlace]] = field(default_factory=dict)
    temp_properties: dict[str, None] = field(default_factory=dict)
    components: dict[str, Reference] = field(default_factory=dict)
    """The type of each component, by its name in the entity."""
    settings: SingleSettings = field(default_factory=SingleSettings)
    is_complete: bool = True
    """False when a reported mistake left something out: mistakes that follow from that are then not reported."""

    def absorb(self, later: Declarations, report: Report) -> None:
        """Lay a later file over this. References to parent and interfaces are not taken over."""
        self.properties.update(later.properties)
        self.detail_places.update(later.detail_places)
        for side, methods in later.methods.items():
            for method in methods.values():
                self.add_method(side, method, report)
        self.levels.update(later.levels)
        self.temp_properties.update(later.temp_properties)
        self.components.update(later.components)
        for each in fields(SingleSettings):
            given = getattr(later.settings, each.name)
            if given is not None:
                setattr(self.settings, each.name, given)
        self.is_complete = self.is_complete and later.is_complete

    def add_method(self, side: Side, method: Method, report: Report) -> None:
        """Add a method, unless there is one of its name: wild trees repeat them, even with other types."""
        first = self.methods[side].setdefault(method.name, method)
        if first.args != method.args:
            message = (
                f"{method.name} has other arguments than at {first.place.file}:{first.place.line}, "
                "which holds: give both the same arguments, or one another name"
            )
            report.warn(method.place, "conflicting method", message, subject=f"{side.value} {method.name}")
