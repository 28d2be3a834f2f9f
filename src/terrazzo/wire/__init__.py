"""Bytes between parties: messages, bundles, links, requests, the entity channel, and the clients' channel.

The entity channel is the largest of them. Who imports whom, from the app down:

    locator          asks BaseAppMgr where a part is, when nobody here knows
       │
    switchboard      the parts of one app: they begin, move and end, their mail, news of others
       │
    courier          frames in, on, and out, at the pace of the tick
       ├─ endings       what is answered for parts that end or have ended
       ├─ rounds        whose turn it is to speak
       │
    mailbox          one part: its channels, its inbox, and how they move with it
       │
    channel          a pair of parts: what is delivered, once and in order
       ├─ places        where a part is: which news is believed
       ├─ streams       what is kept of each direction
       │
    entity_messages  what passes between two apps, and what a packed part is
"""
