"""Bytes and messages: ids, messages and bundles, requests, and the two channels.

    messages, common, numbers   the encoding of messages, and the messages between any two apps
    pairs/                      the messages of each pair of apps
    outbox, requests            the messages that an app sends; requests that are answered exactly once or fail
    entity/                     the entity channel, between parts of entities
    client/                     the encrypted channel between a client and the cluster (`docs/wire.md`)
    schedule, rates, addresses  deadlines and limits that the apps share

Apps and the links between them are in `cluster/`.
"""
