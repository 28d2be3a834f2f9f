"""The invariants of a switchboard: mailboxes, channels and places refer to each other, and the streams add up.

each part here           has a place, which is this app with the version of the mailbox, unless it is ending
each channel             is registered with the place of its peer, and with its mailbox
each outgoing stream     first ≤ sent ≤ next; its size is that of its buffer
each incoming stream     0 ≤ untaken ≤ expected; what is held comes after what is expected
each inbox               its size is that of its messages; with messages it is listed as mailed; ending, it is empty
"""

from __future__ import annotations

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import PartId
from terrazzo.wire.invariants import BrokenInvariant, Share, Violations


def violations(switchboard: Switchboard, share: Share) -> Violations:
    """The invariants of this switchboard that do not hold."""
    mailed = set(switchboard.with_mail())
    for part, box in switchboard.boxes.items():
        if share.has(part.entity):
            for what in _mailbox(switchboard, part, box, part in mailed):
                yield BrokenInvariant(part.entity, f"the mailbox of {part} {what}")
    for part, place in switchboard.places.items():
        if share.has(part.entity):
            for source, channel in place.channels.items():
                if channel.box.part != source or switchboard.boxes.get(source) is not channel.box:
                    yield BrokenInvariant(
                        part.entity, f"the place of {part} has a channel of {source}, which is not here"
                    )


def _mailbox(switchboard: Switchboard, part: PartId, box: Mailbox, is_mailed: bool) -> list[str]:
    place, found = switchboard.places.get(part), []
    if box.part != part:
        found.append(f"is that of {box.part}")
    is_place_true = place is not None and (place.app, place.version) == (switchboard.me, box.version)
    if not is_place_true and not box.is_ending:  # while it ends, the part may live again elsewhere, in a later life
        known = None if place is None else (str(place.app), place.version)
        found.append(f"has version {box.version}, and its place is {known}")
    if box.inbox_bytes != sum(len(payload) for _, _, payload in box.inbox):
        found.append("has a wrong size")
    if box.inbox and (box.is_ending or not is_mailed):
        found.append("has messages, and " + ("is ending" if box.is_ending else "is not listed as mailed"))
    for peer, channel in box.channels.items():
        found += [f"has a channel with {peer} {what}" for what in _channel(switchboard, box, peer, channel)]
    return found


def _channel(switchboard: Switchboard, box: Mailbox, peer: PartId, channel: Channel) -> list[str]:
    place, found = switchboard.places.get(peer), []
    if channel.box is not box or channel.peer != peer:
        found.append(f"that is between {channel.box.part} and {channel.peer}")
    if place is None or channel.place is not place or not place.has(channel):
        found.append("that is not registered with the place of the peer")
    outgoing, incoming = channel.outgoing, channel.incoming
    if outgoing is not None:
        if not outgoing.first <= outgoing.sent <= outgoing.next:
            found.append(f"that has sent up to {outgoing.sent} of {outgoing.first} to {outgoing.next}")
        if outgoing.size != sum(map(len, outgoing.buffer)):
            found.append("whose backlog has a wrong size")
    if incoming is not None:
        if not 0 <= incoming.untaken <= incoming.expected:
            found.append(f"of which {incoming.untaken} messages are not taken, and {incoming.expected} have arrived")
        if incoming.held and min(incoming.held) < incoming.expected:
            found.append(f"that holds message {min(incoming.held)} and expects {incoming.expected}")
    return found
