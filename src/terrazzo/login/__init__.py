"""LoginApp, the public door: every check before a player gets in.

loginapp.py   the app: sessions, one request each, and what becomes of it
checks.py     what a request must be
rates.py      how often one address may try
known.py      from where each player has logged in before
"""
