"""The fight scenario: the fight of examples/plaza on changing cells. What is judged is the state of a game.

scenario.py    the scenario itself
game.py        the classes of the example, observed
judge.py       every blow, from its beginning until neither side has a record of it
"""
