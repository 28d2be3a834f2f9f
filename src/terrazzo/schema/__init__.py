"""The schema: one description of entities, from which codec, ghosts, clients, database, browser and console derive.

Reading order: `flags` (the parts and receivers that get a property), `types` (the types of values), `model` (entity
type, property, method), `indexes` (numbers on the wire), `digest`. Two front doors build the same model: `classes`
(Python classes with type hints) and `deffiles` (BigWorld definition trees). `state` stores the values of an entity and
reports their changes.
"""
