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
"""
