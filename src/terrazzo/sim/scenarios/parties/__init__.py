"""Instances: made, entered, left and ended while players play (`scenario.py`).

game.py        hosts that make and end instances, guests and players that go from space to space, sparks
judge.py       what is recorded of them, and the promises
scenario.py    the cluster, the faults, the ground that changes, the players, and the checks at rest
"""
