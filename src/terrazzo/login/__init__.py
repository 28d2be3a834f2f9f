"""LoginApp: every check before a player is logged on.

loginapp.py   the app: sessions, one request each, and its answer
doorkeeper.py the checks of a request that need no other app
attempts.py   attempts in work or just ended: the same request gets the same answer
queue.py      clients that wait for their turn
capacity.py   whether the world takes one more player
room.py       whether the world has room
admission.py  whether the servers are too busy
limits.py     the limits of a LoginApp
checks.py     size and form of a request
known.py      the addresses from which each player has logged in before
"""
