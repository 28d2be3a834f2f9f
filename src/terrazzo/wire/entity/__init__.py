"""The entity channel: messages between two parts of entities, delivered once and in order while both parts move.

The modules, from the app down; at run time each imports only modules below it:

    switchboard      the API of one app: parts begin, move and end, send and take messages, and the app reports places
       ├─ letters          a part's messages, taken one by one
       │
    router           takes frames in, forwards them, and sends them at the tick
       ├─ termination      the answers for parts that end or have ended
       │
    registry         the mailboxes, places and channels of one app, shared by the switchboard and the router
       ├─ resend_schedule  which channels send in this tick, and when the others are looked at again
       │
    mailbox          one part: its channels, its inbox, and how they are packed for a move
       │
    channel          a pair of parts: what is delivered, once and in order
       ├─ places           where a part lives, and which report of that counts
       ├─ streams          the state of each direction
       │
    messages         the messages between two apps, and the packed form of a part
       │
    _speed/rows      the bytes of frames in bulk
"""
