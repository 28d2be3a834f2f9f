"""DBApp: accounts, stored entities, who is logged on, numbers for new entities.

dbapp.py      the app: saves, ids, and the links it needs
logon.py      one player at the door, from name and password to a proxy that waits
attempts.py   what is known of one attempt to log on, and its limits
doubts.py     log-on records of proxies that may not exist
store.py      what is asked of a database, as operations; and the queue between the app and whoever runs them
sqlite.py     the database in one file
memory.py     the database of tests and of the simulator
bots.py       a database in which bots leave nothing, in front of the players' own
passwords.py  scrypt
names.py      what a new player may be called; name_table.py is generated for it
"""
