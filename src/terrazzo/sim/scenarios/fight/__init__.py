"""The fight scenario: the fight of examples/plaza on changing cells. It judges a game instead of the engine.

scenario.py    the scenario itself
game.py        the classes of the example, observed
judge.py       every blow, from its beginning until both sides are done with it
"""
