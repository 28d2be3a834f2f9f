"""The channel scenario: parts of entities that move at random between apps and send to each other.

scenario.py     the scenario itself
homes.py        the apps where the parts live
directory.py    the app that has the place of each part, stores backups, declares apps dead and restores parts
messages.py     the messages between them
ledger.py       what each part sent and received, and the checks of P2
clients.py      clients and a server that talk over datagrams, and the checks of P4
"""
