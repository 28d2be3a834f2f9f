"""One of the two front doors: Python classes with type hints.

    hints          the names for types: Int16, Text, Array[Item] …
    records        Record, the class of a FIXED_DICT
    declare        EntityType, Interface, ComponentType, prop: what an entity type is
    parts          Base, Proxy, Cell, Client, @remote, @exposed: what its parts do
    build, package from classes, or from a game's folder, to a schema

Behind them: `annotations` turns a hint into a type, `sources` finds file and line of a mistake, `reading` and
`settings` read one class.
"""
