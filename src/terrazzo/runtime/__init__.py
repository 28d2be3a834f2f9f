"""Where the engine meets the machine: the only package with sockets, clocks and an event loop.

The state machines of `wire` know nothing of any of this; the shells here move their bytes and tell them the time, as
`sim` does with a virtual clock and a hostile network.

    loop.py        which event loop
    shell.py       what drives an endpoint of the client channel, whatever carries it
      udp.py         over datagrams
      websocket.py   over WebSocket
    framing.py     frames in a stream of bytes
    links.py       connections between apps, over TCP and unix sockets
    schedule.py    when the next tick is due
    driver.py      runs one app: its ticks, its links, its end

A cluster of processes, from the command to the app and back:

    config.py      the settings, one TOML file
    datafolder.py  what stays on disk: database, key, logs, where the cluster is
    logs.py        one line for each event
    cluster.py     what runs, how far it is, in which order it ends
    launcher.py    how it comes to run: processes of this machine, or all in one
    orders.py      what launcher, processes and tools say to each other
    process.py     one process
    members.py     each app with its driver, from start to end
      entrances.py   those that clients talk to
      doors.py       their sockets
      storethreads.py  who writes for DBApp
    players.py     what drives a client: over UDP, over WebSocket
    bots.py        many of them
"""
