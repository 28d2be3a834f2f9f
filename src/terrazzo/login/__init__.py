"""LoginApp: every check before a player is logged on.

loginapp.py   the app: sessions, one request each, and its answer
attempts.py   attempts in work or just ended: the same request gets the same answer
checks.py     size and form of a request
known.py      the addresses from which each player has logged in before
"""
