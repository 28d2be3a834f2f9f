"""What an entity is: one description from which codec, ghosts, clients, database, browser and console are derived.

Reading order: `flags` (who holds and hears a property), `types` (what a value may be), `model` (entity type, property,
method), `indexes` (numbers on the wire), `digest`. Two front doors build the same model: `classes` (Python classes with
type hints) and `deffiles` (BigWorld definition trees). `state` holds an entity's values and knows when they change.
"""
