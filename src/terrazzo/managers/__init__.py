"""The two who decide: CellAppMgr, where things are in the spaces; BaseAppMgr, on which BaseApp an entity lives.

Neither is on the path of a player's traffic: they are asked once, and then the apps talk to each other.
"""
