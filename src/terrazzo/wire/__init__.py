"""Bytes and messages: ids, messages and bundles, requests, and what the two channels are made of.

    messages, common, numbers   how a message is encoded, and which messages any two apps exchange
    pairs/                      the messages of each pair of apps
    outbox, requests            what an app sends, and questions that are answered exactly once or fail
    entity/                     the entity channel, between parts of entities
    client/                     the encrypted channel between a client and the cluster (`docs/wire.md`)
    schedule, rates, addresses  deadlines and limits that the apps share

Apps and the links between them are in `cluster/`.
"""
