"""Benchmarks behind `terrazzo bench`. Each measures against something else in the same run, and prints the ratio.

Machines are noisy: absolute times mean little. The rivals take turns in many short rounds and the best round of each
counts, so that a slow moment hits all of them or none.
"""
