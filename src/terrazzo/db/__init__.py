"""DBApp: accounts, stored entities, log-on records, ids for new entities.

dbapp.py         the app: saves, ids, and the links it needs
logon.py         log-ons, from a name and a password to a proxy that waits for its client
logon_states.py  the states of one attempt to log on, as a table
attempts.py      the data of one attempt, and the limits
doubts.py        log-on records of proxies that may not exist
refusals.py      why a log-on is refused
store.py         the operations of a database, and the queue between the app and the worker that runs them
layout.py        the operations on all records at once
migration.py     records of a game that has changed, with conversion.py
sqlite.py        the database in one file
memory.py        the database of tests and of the simulator
bots.py          keeps bots out of the players' database
passwords.py     scrypt
names.py         the names that a new player may have; name_table.py is generated for it
"""
