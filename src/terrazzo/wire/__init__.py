"""Bytes between parties: messages, bundles, links, requests, the entity channel, and the clients' channel."""
