"""The only package with sockets, clocks and an event loop.

The state machines of `wire` use none of them: the shells here carry their bytes and pass them the time, as `sim` does
with a virtual clock and a hostile network.

    loop.py        the event loop
    shell.py       drives an endpoint of the client channel, over any transport
      udp.py         over datagrams
      websocket.py   over WebSocket
    framing.py     frames in a stream of bytes
    links.py       connections between apps, over TCP and unix sockets
    schedule.py    when the next tick is due
    driver.py      runs one app: its ticks, its links, its end

A cluster of processes, from the command to the app and back:

    config.py      the settings, one TOML file
    datafolder.py  the files of a cluster: database, key, logs, its addresses
    logs.py        one line for each event
    cluster.py     starts the members, follows their progress, ends them in order
    launcher.py    runs members as processes of this machine, or all in one process
    orders.py      the messages between launcher, processes and tools
    process.py     one process
    members.py     each app with its driver, from start to end
      entrances.py   the apps with doors for clients
      doors.py       their sockets
      storethreads.py  the threads that write for DBApp
    players.py     drives a client: over UDP, over WebSocket
    bots.py        many of them
"""
