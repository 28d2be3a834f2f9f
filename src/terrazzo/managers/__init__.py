"""The two managers: the CellAppMgr divides the spaces among CellApps, the BaseAppMgr chooses the BaseApp of an entity.

Neither is on the path of a player's traffic: an app asks a manager once, and then the apps send to each other.
"""
