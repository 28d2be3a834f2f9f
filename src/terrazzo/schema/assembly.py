"""Makes an entity type of its declarations: both front doors end here.

A front door reads classes or files into Declarations and lays them over each other. The rest is common to both: the
components' properties and methods come last, under the component's name; levels of detail are put in order, and a
property may only name one of them; and settings that no declaration has get their usual value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from terrazzo.schema.declarations import Declarations
from terrazzo.schema.indexes import PROPERTIES_MAX
from terrazzo.schema.model import Compression, EntitySchema, Method, Property, Side, SourcePlace, Volatile
from terrazzo.schema.report import Report

LEVELS_MAX = 3
"""Levels of detail that can be declared; the outermost needs no declaration."""


def assemble(
    name: str,
    type_id: int,
    declared: Declarations,
    components: Mapping[str, Declarations],
    report: Report,
    *,
    on_client: bool,
    place: SourcePlace,
    cell_only: bool = False,
) -> EntitySchema:
    """The entity type of these declarations; `components` by their name in the entity."""
    whole = Declarations()
    whole.absorb(declared, report)
    methods = {side: list(whole.methods[side].values()) for side in Side}
    for component, each in components.items():
        _add_component(component, each, whole, methods, report)
    _check_levels(whole, report)
    values = whole.settings
    entity = EntitySchema(
        name,
        type_id,
        properties=tuple(_with_known_level(each, whole, report) for each in whole.properties.values()),
        client_methods=tuple(methods[Side.CLIENT]),
        cell_methods=tuple(methods[Side.CELL]),
        base_methods=tuple(methods[Side.BASE]),
        detail_levels=tuple(
            sorted((level for level, _ in whole.levels.values()), key=lambda each: each.start)[:LEVELS_MAX]
        ),
        volatile=values.volatile or Volatile(),
        appeal_radius=values.appeal_radius or 0.0,
        temp_properties=tuple(whole.temp_properties),
        compression=Compression(values.internal_compression or 0, values.external_compression or 0),
        on_client=on_client,
        is_manual_aoi=values.is_manual_aoi is True,
        detailed_volatile_position=values.detailed_volatile_position is True,
        persistent=values.persistent is not False,
        explicit_database_id=values.explicit_database_id is True,
        cell_only=cell_only,
        components=tuple((component, each.name) for component, each in declared.components.items()),
        place=place,
    )
    count = len(entity.client_properties)
    if count > PROPERTIES_MAX:
        message = f"{name} has {count} properties for clients, and at most {PROPERTIES_MAX} have a number"
        report.error(place, "too many client properties", message)
    return entity


def _add_component(
    name: str, declared: Declarations, whole: Declarations, methods: dict[Side, list[Method]], report: Report
) -> None:
    for each in declared.properties.values():
        whole.properties[f"{name}.{each.name}"] = replace(each, name=f"{name}.{each.name}")
        whole.detail_places[f"{name}.{each.name}"] = declared.detail_places.get(each.name, each.place)
    for side in Side:
        methods[side] += (replace(each, component=name) for each in declared.methods[side].values())
    for label, level in declared.levels.items():
        whole.levels.setdefault(label, level)
    whole.temp_properties.update({f"{name}.{each}": None for each in declared.temp_properties})
    whole.is_complete = whole.is_complete and declared.is_complete
    for inner, reference in declared.components.items():
        message = f"a component has no components of its own: {inner} is passed over"
        report.warn(reference.place, "nested component", message, tag=inner, subject=inner)


def _check_levels(whole: Declarations, report: Report) -> None:
    for label, (_, place) in list(whole.levels.items())[LEVELS_MAX:]:
        message = f"{label} is one level too many: at most {LEVELS_MAX} can be declared, the outermost needs none"
        report.error(place, "too many LoD levels", message, subject=label)


def _with_known_level(prop: Property, whole: Declarations, report: Report) -> Property:
    label = prop.detail_level
    if label is None or label in whole.levels:
        return prop
    if whole.is_complete:
        known = ", ".join(whole.levels) or "none"
        message = f"no level of detail is labelled {label}: declare it, or use one of those declared ({known})"
        report.error(whole.detail_places.get(prop.name, prop.place), "unknown detail level", message, subject=label)
    return replace(prop, detail_level=None)
