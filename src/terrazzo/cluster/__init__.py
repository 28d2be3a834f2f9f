"""What an app of the cluster is, without I/O: `sim` and `runtime` drive it.

app            the methods that a driver calls, and the host that an app may use
cluster_app    what all apps share: requests, and the table from kinds of messages to handlers
links          the link between two apps: one ordered connection; its loss is an event
connection     the transport that a driver provides, and the state of each connection
locator        asks BaseAppMgr for the home of a part that no other source has
"""
