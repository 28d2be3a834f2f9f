// The client channel over WebSocket: docs/wire.md, section 12. After the handshake, DATA packets of up to 16384 bytes
// carry frames.
//
// A WebSocket neither loses nor reorders packets, so the channel has no loss detection. Acknowledgements bound the
// packets in flight, measure the round trip and complete the graceful end. WebCrypto works with promises, so each
// direction has a chain of promises: packets are opened one after the other in the order of their arrival, and sent one
// after the other in the order of their numbers.

import { DecodeError, Reader, UsageError, Writer, joinBytes } from "./bytes.js";
import { Assembly, CODES, ChannelError, FRAME, PACKET, REASONS, expand, parseBody } from "./frames.js";
import { Handshake, TAG_BYTES, seal, unseal } from "./handshake.js";
import { Outbox } from "./outbox.js";

const PACKET_BYTES_MAX = 16384;
const HEADER_BYTES = 9;
const UNRELIABLE_BYTES_MAX = 1024; // of one unreliable message
const RELIABLE_BYTES_MAX = 65536; // of one reliable message
const SEND_QUEUE_BYTES_MAX = 4 << 20;
const STREAM_WINDOW_BYTES = 262144;
const WINDOW_PACKETS = { first: 32, most: 256 };
const ACK_AFTER_PACKETS = 8;
const PACKETS_MAX = 2 ** 28 - 512;
const MS = { ack: 120, keepAlive: 5000, silence: 30000, finalPing: 1000, end: 5000, handshake: 10000, watch: 250 };

/**
 * One session over one WebSocket.
 *
 *     OPEN ──close(), or the peer's END──► ENDING ──own stream and END acknowledged, peer's complete──► CLOSED
 *       └──abort(), CLOSE, silence, slow reader, protocol fault, lost connection, no end in time──────────▲
 */
export class Channel {
  state = "OPEN";
  reason = null; // of REASONS, once the state is CLOSED
  drops = 0; // packets that were not of this session, or not new
  roundTripMs = null;
  #socket;
  #keys;
  #onMessage;
  #onClosed;
  #now;
  #sealing = Promise.resolve(); // the chain of packets that are being sealed and sent
  #nextNumber = 0; // of the next packet to send
  #newestReceived = -1;
  #newestReceivedAt = 0;
  #assembly = new Assembly();
  #outbox = new Outbox();
  #acknowledged = 0; // the offset of the own stream up to which the peer has acknowledged
  #inFlight = new Map(); // sent packets without an acknowledgement: number to {sentAt, end}
  #window = WINDOW_PACKETS.first; // packets that may be in flight
  #pingIsDue = true; // at first, because the server opens the session at the first packet
  #challenge = null; // the bytes of a CHALLENGE that is to be answered
  #ownEnd = "no"; // then "sent", then "acknowledged"
  #peerEnd = null; // the offset at which the peer's stream ends
  #unacknowledged = 0; // received packets that are to be acknowledged
  #lastSentAt;
  #lastReceivedAt;
  #finalPingAt = null; // when the last ping was sent; without an answer to it a silent session ends
  #endDeadline = Infinity;
  #ackTimer = null;
  #watchTimer;
  #isSendQueued = false;

  /** Opens a session, or throws ChannelError. Options: WebSocket, agreement, random, now, onMessage, onClosed. */
  static async connect(url, serverKey, appData, options) {
    const handshake = await Handshake.start(serverKey, appData, options);
    const socket = new options.WebSocket(url);
    socket.binaryType = "arraybuffer";
    return new Promise((resolve, reject) => {
      let channel = null;
      let opening = Promise.resolve(); // the chain of received packets that are being opened
      const giveUp = (error) => {
        clearTimeout(timer);
        reject(error);
        socket.close();
      };
      const timer = setTimeout(() => giveUp(new ChannelError("NO_ANSWER")), MS.handshake);
      socket.onopen = () => socket.send(handshake.openPacket);
      socket.onclose = () => (channel ? channel.#finish("PATH_LOST") : giveUp(new ChannelError("PATH_LOST")));
      socket.onerror = socket.onclose;
      socket.onmessage = ({ data }) => {
        if (!(data instanceof ArrayBuffer)) return;
        opening = opening.then(async () => {
          if (channel) return channel.#onPacket(new Uint8Array(data));
          const keys = await handshake.answer(new Uint8Array(data));
          if (keys === null) return undefined;
          clearTimeout(timer);
          channel = new Channel(socket, { ...keys, clientId: handshake.clientId }, options);
          return resolve(channel);
        }).catch((error) => (channel ? channel.#fail(error) : giveUp(error)));
      };
    });
  }

  constructor(socket, keys, { onMessage, onClosed, now }) {
    this.#socket = socket;
    this.#keys = keys;
    this.#onMessage = onMessage;
    this.#onClosed = onClosed;
    this.#now = now;
    this.#lastSentAt = this.#lastReceivedAt = now();
    this.#watchTimer = setInterval(() => this.#onTime(), MS.watch);
    this.#sendPending();
  }

  /** Queues one message; returns false when the session is closed or ending. */
  send(message, { reliable = true } = {}) {
    if (this.state !== "OPEN") return false;
    const bytesMax = reliable ? RELIABLE_BYTES_MAX : UNRELIABLE_BYTES_MAX;
    if (message.length > bytesMax) {
      throw new UsageError(`a message of ${message.length} bytes; at most ${bytesMax}: send it in parts`);
    }
    if (reliable) this.#outbox.addReliable(message);
    else this.#outbox.addUnreliable(message);
    if (this.#outbox.streamBytes > SEND_QUEUE_BYTES_MAX) this.#finish("SLOW_READER");
    this.#sendSoon();
    return this.state === "OPEN";
  }

  /** Ends gracefully: each side receives all reliable messages of the other. */
  close() {
    if (this.state !== "OPEN") return;
    this.state = "ENDING";
    this.#endDeadline = this.#now() + MS.end;
    this.#sendSoon();
  }

  /** Ends at once. */
  abort() {
    this.#finish("ABORTED");
  }

  // Receiving.

  async #onPacket(data) {
    if (this.state === "CLOSED") return;
    const number = this.#numberOf(data);
    const header = data.subarray(0, HEADER_BYTES);
    const isNew = number > this.#newestReceived;
    const body = isNew ? await unseal(this.#keys.receiveKey, number, data.subarray(HEADER_BYTES), header) : null;
    if (body === null) {
      this.drops += 1;
      return;
    }
    this.#newestReceived = number;
    this.#newestReceivedAt = this.#lastReceivedAt = this.#now();
    this.#finalPingAt = null;
    if (this.state !== "CLOSED") this.#onBody(parseBody(body));
  }

  /** The number of a DATA packet of this session; -1 for other packets. */
  #numberOf(data) {
    if (data[0] !== PACKET.DATA || data.length <= HEADER_BYTES + TAG_BYTES || data.length > PACKET_BYTES_MAX) return -1;
    const reader = new Reader(data, 1);
    return reader.u32("DATA") === this.#keys.clientId ? expand(reader.u32("DATA"), this.#newestReceived + 1) : -1;
  }

  #onBody(frames) {
    if (frames.wantsAck) this.#unacknowledged += 1;
    if (frames.ack) this.#onAck(frames.ack);
    for (const chunk of frames.chunks) this.#assembly.add(chunk);
    const messages = [...this.#assembly.take(), ...frames.messages];
    if (frames.end !== null) this.#onEnd(expand(frames.end, this.#assembly.received));
    const isPastEnd = this.#peerEnd !== null && this.#assembly.received > this.#peerEnd;
    if (isPastEnd) throw new DecodeError("the stream continues after its end");
    if (frames.challenge) this.#challenge = frames.challenge;
    for (const message of messages) this.#onMessage(message);
    if (frames.close !== null) this.#onClose(frames.close);
    else this.#afterBody();
  }

  #afterBody() {
    const isOwnStreamDone = this.#ownEnd === "acknowledged" && this.#acknowledged === this.#outbox.sent;
    const isPeerStreamDone = this.#assembly.received === this.#peerEnd;
    if (this.state === "ENDING" && isOwnStreamDone && isPeerStreamDone) this.#finish("ENDED");
    else if (this.#unacknowledged >= ACK_AFTER_PACKETS) this.#sendPending();
    else {
      if (this.#unacknowledged) this.#ackTimer ??= setTimeout(() => this.#sendPending(), MS.ack);
      this.#sendSoon();
    }
  }

  #onAck({ newest: lowNewest, delayMs, received: lowReceived }) {
    const newest = expand(lowNewest, this.#nextNumber);
    const received = expand(lowReceived, this.#acknowledged);
    const wasSent = newest < this.#nextNumber && received <= this.#outbox.sent;
    if (!wasSent) throw new DecodeError("an acknowledgement of a packet or a byte that was never sent");
    this.#acknowledged = Math.max(this.#acknowledged, received);
    const sample = this.#inFlight.get(newest);
    if (sample) {
      const roundTrip = Math.max(this.#now() - sample.sentAt - Math.min(delayMs, MS.ack), 0);
      this.roundTripMs = this.roundTripMs === null ? roundTrip : this.roundTripMs + (roundTrip - this.roundTripMs) / 8;
    }
    const isUsed = 2 * this.#inFlight.size >= this.#window; // only a window in use may grow
    for (const [number, { end }] of this.#inFlight) {
      if (number > newest) break;
      this.#inFlight.delete(number);
      if (isUsed) this.#window = Math.min(this.#window + 1, WINDOW_PACKETS.most);
      if (end) this.#ownEnd = "acknowledged";
    }
  }

  #onEnd(offset) {
    this.#peerEnd ??= offset;
    if (this.#peerEnd !== offset) throw new DecodeError("a second end of the stream, at another offset");
    this.close();
  }

  #onClose(code) {
    const reason = code < 128 && REASONS[code] ? REASONS[code] : "ABORTED";
    this.#finish(reason === "ENDED" && this.state !== "ENDING" ? "ABORTED" : reason, { byPeer: true });
  }

  // Sending.

  /** Sends after the present task, so that all messages of the task share packets. */
  #sendSoon() {
    if (this.#isSendQueued) return;
    this.#isSendQueued = true;
    queueMicrotask(() => {
      this.#isSendQueued = false;
      this.#sendPending({ acksWait: true });
    });
  }

  /** Sends all that the windows allow now. With `acksWait`, a packet of only an acknowledgement waits for its timer. */
  #sendPending({ acksWait = false } = {}) {
    while (this.state !== "CLOSED") {
      const packet = this.#nextPacket(acksWait);
      if (packet === null) return;
      if (this.#nextNumber >= PACKETS_MAX) return void this.#finish("KEYS_WORN");
      this.#transmit(packet);
    }
  }

  /** The body of the next packet, and whether it wants an acknowledgement; null if there is nothing to send. */
  #nextPacket(acksWait) {
    const mayEnd = this.state === "ENDING" && this.#ownEnd === "no" && !this.#outbox.streamBytes;
    const windowLeft = STREAM_WINDOW_BYTES - (this.#outbox.sent - this.#acknowledged);
    const streamRoom = Math.min(windowLeft, this.#outbox.streamBytes);
    const hasContent = (streamRoom > 0 || this.#outbox.hasUnreliable) && this.#inFlight.size < this.#window;
    const ackIsDue = this.#unacknowledged && !acksWait;
    if (!(mayEnd || this.#pingIsDue || this.#challenge || hasContent || ackIsDue)) return null;
    const writer = new Writer();
    if (this.#unacknowledged) this.#writeAck(writer);
    const ackBytes = writer.size;
    if (mayEnd) writer.u8(FRAME.END).u32(this.#outbox.sent % 2 ** 32);
    if (this.#pingIsDue) writer.bytes(new Uint8Array(9).fill(FRAME.PING)); // docs/wire.md has the reason for nine
    const wantsAck = writer.size > ackBytes || hasContent;
    if (this.#challenge) writer.u8(FRAME.ANSWER).bytes(this.#challenge);
    this.#pingIsDue = false;
    this.#challenge = null;
    if (mayEnd) this.#ownEnd = "sent";
    const room = PACKET_BYTES_MAX - HEADER_BYTES - TAG_BYTES - writer.size;
    if (hasContent) this.#outbox.writeContent(writer, room, streamRoom);
    return { body: writer.done(), wantsAck, end: mayEnd };
  }

  #writeAck(writer) {
    const delay = Math.min(Math.round(10 * (this.#now() - this.#newestReceivedAt)), 0xffff);
    writer.u8(FRAME.ACK).u32(this.#newestReceived % 2 ** 32).u16(delay).u32(this.#assembly.received % 2 ** 32).u8(0);
    this.#unacknowledged = 0;
    clearTimeout(this.#ackTimer);
    this.#ackTimer = null;
  }

  #transmit({ body, wantsAck, end = false }) {
    const number = this.#nextNumber;
    this.#nextNumber += 1;
    this.#lastSentAt = this.#now();
    if (wantsAck) this.#inFlight.set(number, { sentAt: this.#lastSentAt, end });
    const header = new Writer().u8(PACKET.DATA).u32(this.#keys.serverId).u32(number % 2 ** 32).done();
    const sealed = seal(this.#keys.sendKey, number, body, header);
    this.#sealing = this.#sealing.then(async () => {
      const packet = joinBytes(header, await sealed);
      if (this.#socket.readyState === 1) this.#socket.send(packet);
    });
  }

  // Time and the end.

  #onTime() {
    const now = this.#now();
    if (now >= this.#endDeadline) return void this.#finish("END_TIMEOUT");
    if (now >= this.#lastReceivedAt + MS.silence) {
      // The channel sends a final ping before it ends: perhaps it was this page that did not run.
      const isUnanswered = this.#finalPingAt !== null && now >= this.#finalPingAt + MS.finalPing;
      if (isUnanswered) return void this.#finish("SILENT");
      this.#pingIsDue ||= this.#finalPingAt === null;
      this.#finalPingAt ??= now;
    }
    if (now >= this.#lastSentAt + MS.keepAlive) this.#pingIsDue = true;
    this.#sendPending({ acksWait: true });
    return undefined;
  }

  #fail(error) {
    if (!(error instanceof DecodeError)) console.error(error);
    this.#finish("PROTOCOL");
  }

  #finish(reason, { byPeer = false } = {}) {
    if (this.state === "CLOSED") return;
    this.state = "CLOSED";
    this.reason = reason;
    clearInterval(this.#watchTimer);
    clearTimeout(this.#ackTimer);
    const code = CODES[reason];
    if (!byPeer && code < 128) this.#transmit({ body: Uint8Array.of(FRAME.CLOSE, code), wantsAck: false });
    this.#sealing.then(() => this.#socket.close());
    this.#onClosed(reason, byPeer);
  }
}
