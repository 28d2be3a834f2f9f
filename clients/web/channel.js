// The client channel over WebSocket: docs/wire.md, section 12. After the handshake, DATA packets of up to 16384 bytes
// carry frames.
//
// A WebSocket neither loses nor reorders packets, so the channel has no loss detection. Acknowledgements bound the
// packets in flight, measure the round trip and complete the graceful end. WebCrypto works with promises, so each
// direction has a chain of promises: packets are opened one after the other in the order of their arrival, and sent one
// after the other in the order of their numbers.

import { DecodeError, Reader, UsageError, Writer, join } from "./bytes.js";
import { Assembly, CODES, ChannelError, FRAME, PACKET, REASONS, expand, parseBody } from "./frames.js";
import { Handshake, TAG_BYTES, seal, unseal } from "./handshake.js";

const PACKET_BYTES_MAX = 16384;
const HEADER_BYTES = 9;
const UNRELIABLE_BYTES_MAX = 1024;
const UNRELIABLE_QUEUE_BYTES_MAX = 65536;
const SEND_BYTES_MAX = 65536;
const SEND_QUEUE_BYTES_MAX = 4 << 20;
const STREAM_WINDOW_BYTES = 262144;
const WINDOW_PACKETS = { first: 32, most: 256 };
const PACKETS_MAX = 2 ** 28 - 512;
const MS = { ack: 120, keepAlive: 5000, silence: 30000, lastCall: 1000, end: 5000, handshake: 10000, watch: 250 };

/**
 * One session over one WebSocket.
 *
 *     OPEN ──close(), or the peer's END──► ENDING ──own stream and END acknowledged, peer's complete──► CLOSED
 *       └──abort(), CLOSE, silence, slow reader, protocol fault, lost connection, no end in time──────────▲
 */
export class Channel {
  state = "OPEN";
  reason = null;
  drops = 0;
  roundTripMs = null;
  #socket;
  #keys;
  #onMessage;
  #onClosed;
  #now;
  #sealing = Promise.resolve();
  #nextNumber = 0;
  #newestReceived = -1;
  #assembly = new Assembly();
  #stream = []; // whole messages with their lengths, not sent yet
  #streamBytes = 0;
  #sent = 0; // offsets of the own stream: sent, and acknowledged by the peer
  #acknowledged = 0;
  #unreliable = [];
  #unreliableBytes = 0;
  #inFlight = new Map(); // packet number to {sentAt, end}
  #window = WINDOW_PACKETS.first;
  #ping = true; // the server opens the session with the first packet
  #answer = null;
  #ownEnd = "no"; // "sent", "acknowledged"
  #peerEnd = null;
  #acksWaiting = 0;
  #newestAt = 0;
  #lastSentAt;
  #lastHeardAt;
  #lastCallAt = null;
  #endBy = Infinity;
  #ackTimer = null;
  #watch;
  #pumpWaits = false;

  /** Opens a session, or throws ChannelError. Options: WebSocket, agreement, random, now, onMessage, onClosed. */
  static async connect(url, serverKey, appData, options) {
    const handshake = await Handshake.start(serverKey, appData, options);
    const socket = new options.WebSocket(url);
    socket.binaryType = "arraybuffer";
    return new Promise((resolve, reject) => {
      let channel = null;
      let opening = Promise.resolve();
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
        // Packets that come while one is being opened wait their turn in this chain.
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
    this.#lastSentAt = this.#lastHeardAt = now();
    this.#watch = setInterval(() => this.#onTime(), MS.watch);
    this.#pump();
  }

  /** Queues one message; false when the session is over or ending. */
  send(message, { reliable = true } = {}) {
    if (this.state !== "OPEN") return false;
    const most = reliable ? SEND_BYTES_MAX : UNRELIABLE_BYTES_MAX;
    if (message.length > most) {
      throw new UsageError(`a message of ${message.length} bytes; at most ${most}: send it in parts`);
    }
    if (reliable) this.#queueReliable(message);
    else this.#queueUnreliable(message);
    this.#pumpSoon();
    return this.state === "OPEN";
  }

  /** Ends gracefully: both ends get everything that was sent. */
  close() {
    if (this.state !== "OPEN") return;
    this.state = "ENDING";
    this.#endBy = this.#now() + MS.end;
    this.#pumpSoon();
  }

  /** Ends at once. */
  abort() {
    this.#finish("ABORTED");
  }

  #queueReliable(message) {
    const piece = new Writer().packedLength(message.length).bytes(message).done();
    this.#stream.push(piece);
    this.#streamBytes += piece.length;
    if (this.#streamBytes > SEND_QUEUE_BYTES_MAX) this.#finish("SLOW_READER");
  }

  #queueUnreliable(message) {
    this.#unreliable.push(message);
    this.#unreliableBytes += message.length;
    while (this.#unreliableBytes > UNRELIABLE_QUEUE_BYTES_MAX) this.#unreliableBytes -= this.#unreliable.shift().length;
  }

  // Receiving.

  async #onPacket(data) {
    if (this.state === "CLOSED") return;
    const number = this.#numberOf(data);
    const header = data.slice(0, HEADER_BYTES);
    const isNew = number > this.#newestReceived;
    const body = isNew ? await unseal(this.#keys.receiveKey, number, data.slice(HEADER_BYTES), header) : null;
    if (body === null) {
      this.drops += 1;
      return;
    }
    this.#newestReceived = number;
    this.#newestAt = this.#lastHeardAt = this.#now();
    this.#lastCallAt = null;
    if (this.state !== "CLOSED") this.#onBody(parseBody(body));
  }

  /** The number of a DATA packet for this session; -1 for anything else. */
  #numberOf(data) {
    if (data[0] !== PACKET.DATA || data.length <= HEADER_BYTES + TAG_BYTES || data.length > PACKET_BYTES_MAX) return -1;
    const reader = new Reader(data, 1);
    return reader.u32("DATA") === this.#keys.clientId ? expand(reader.u32("DATA"), this.#newestReceived + 1) : -1;
  }

  #onBody(frames) {
    if (frames.wantsAck) this.#acksWaiting += 1;
    if (frames.ack) this.#onAck(frames.ack);
    for (const chunk of frames.chunks) this.#assembly.add(chunk);
    const messages = [...this.#assembly.take(), ...frames.messages];
    if (frames.end !== null) this.#onEnd(expand(frames.end, this.#assembly.received));
    const goesOn = this.#peerEnd !== null && this.#assembly.received > this.#peerEnd;
    if (goesOn) throw new DecodeError("the stream goes on behind its end");
    if (frames.challenge) this.#answer = frames.challenge;
    for (const message of messages) this.#onMessage(message);
    if (frames.close !== null) this.#onClose(frames.close);
    else this.#afterBody();
  }

  #afterBody() {
    const isSaid = this.#ownEnd === "acknowledged" && this.#acknowledged === this.#sent;
    if (this.state === "ENDING" && isSaid && this.#assembly.received === this.#peerEnd) this.#finish("ENDED");
    else if (this.#acksWaiting >= 8) this.#pump();
    else {
      if (this.#acksWaiting) this.#ackTimer ??= setTimeout(() => this.#pump(), MS.ack);
      this.#pumpSoon();
    }
  }

  #onAck({ newest: low, delayMs, received: lowReceived }) {
    const newest = expand(low, this.#nextNumber);
    const received = expand(lowReceived, this.#acknowledged);
    const wasSent = newest < this.#nextNumber && received <= this.#sent;
    if (!wasSent) throw new DecodeError("an acknowledgement of what was never sent");
    this.#acknowledged = Math.max(this.#acknowledged, received);
    const sample = this.#inFlight.get(newest);
    if (sample) {
      const roundTrip = Math.max(this.#now() - sample.sentAt - Math.min(delayMs, MS.ack), 0);
      this.roundTripMs = this.roundTripMs === null ? roundTrip : this.roundTripMs + (roundTrip - this.roundTripMs) / 8;
    }
    const isUsed = 2 * this.#inFlight.size >= this.#window; // a window that is not used says nothing about the path
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

  #pumpSoon() {
    if (this.#pumpWaits) return;
    this.#pumpWaits = true;
    queueMicrotask(() => {
      this.#pumpWaits = false;
      this.#pump({ acksWait: true });
    });
  }

  /** Sends what may be sent now. With `acksWait` an acknowledgement alone is left to its timer. */
  #pump({ acksWait = false } = {}) {
    while (this.state !== "CLOSED") {
      const frames = this.#nextFrames(acksWait);
      if (frames === null) return;
      if (this.#nextNumber >= PACKETS_MAX) return void this.#finish("KEYS_WORN");
      this.#transmit(frames);
    }
  }

  #nextFrames(acksWait) {
    const mayEnd = this.state === "ENDING" && this.#ownEnd === "no" && !this.#stream.length;
    const streamRoom = Math.min(STREAM_WINDOW_BYTES - (this.#sent - this.#acknowledged), this.#streamBytes);
    const hasContent = (streamRoom > 0 || this.#unreliable.length > 0) && this.#inFlight.size < this.#window;
    if (!(mayEnd || this.#ping || this.#answer || hasContent || (this.#acksWaiting && !acksWait))) return null;
    const writer = new Writer();
    if (this.#acksWaiting) this.#writeAck(writer);
    const acked = writer.size;
    if (mayEnd) writer.u8(FRAME.END).u32(this.#sent % 2 ** 32);
    if (this.#ping) writer.bytes(new Uint8Array(9).fill(FRAME.PING)); // docs/wire.md says why nine
    const wantsAck = writer.size > acked || hasContent;
    if (this.#answer) writer.u8(FRAME.ANSWER).bytes(this.#answer);
    this.#ping = false;
    this.#answer = null;
    if (mayEnd) this.#ownEnd = "sent";
    if (hasContent) this.#writeContent(writer, streamRoom);
    return { body: writer.done(), wantsAck, end: mayEnd };
  }

  #writeAck(writer) {
    const delay = Math.min(Math.round(10 * (this.#now() - this.#newestAt)), 0xffff);
    writer.u8(FRAME.ACK).u32(this.#newestReceived % 2 ** 32).u16(delay).u32(this.#assembly.received % 2 ** 32).u8(0);
    this.#acksWaiting = 0;
    clearTimeout(this.#ackTimer);
    this.#ackTimer = null;
  }

  /** STREAM, then MESSAGE frames. While the stream waits, messages get half of the room, or one that is larger. */
  #writeContent(writer, streamRoom) {
    let room = PACKET_BYTES_MAX - HEADER_BYTES - TAG_BYTES - writer.size;
    const share = streamRoom > 0 ? room >> 1 : room;
    const messages = [];
    let used = 0;
    while (this.#unreliable.length) {
      used += this.#unreliable[0].length + (this.#unreliable[0].length < 255 ? 2 : 5);
      if (used > room || (messages.length && used > share)) break;
      messages.push(this.#unreliable.shift());
    }
    for (const message of messages) {
      this.#unreliableBytes -= message.length;
      room -= message.length + (message.length < 255 ? 2 : 5);
    }
    const size = Math.min(streamRoom, room - 7);
    if (size > 0) writer.u8(FRAME.STREAM).u32(this.#sent % 2 ** 32).u16(size).bytes(this.#takeStream(size));
    for (const message of messages) writer.u8(FRAME.MESSAGE).packedLength(message.length).bytes(message);
  }

  #takeStream(size) {
    const writer = new Writer();
    while (writer.size < size) {
      const [piece] = this.#stream;
      const part = piece.subarray(0, size - writer.size);
      writer.bytes(part);
      if (part.length === piece.length) this.#stream.shift();
      else this.#stream[0] = piece.subarray(part.length);
    }
    this.#streamBytes -= size;
    this.#sent += size;
    return writer.done();
  }

  #transmit({ body, wantsAck, end = false }) {
    const number = this.#nextNumber;
    this.#nextNumber += 1;
    this.#lastSentAt = this.#now();
    if (wantsAck) this.#inFlight.set(number, { sentAt: this.#lastSentAt, end });
    const header = new Writer().u8(PACKET.DATA).u32(this.#keys.serverId).u32(number % 2 ** 32).done();
    const sealed = seal(this.#keys.sendKey, number, body, header);
    this.#sealing = this.#sealing.then(async () => {
      const packet = join(header, await sealed);
      if (this.#socket.readyState === 1) this.#socket.send(packet);
    });
  }

  // Time and the end.

  #onTime() {
    const now = this.#now();
    if (now >= this.#endBy) return void this.#finish("END_TIMEOUT");
    if (now >= this.#lastHeardAt + MS.silence) {
      // One last call first: it may be this page that stood still.
      if (this.#lastCallAt !== null && now >= this.#lastCallAt + MS.lastCall) return void this.#finish("SILENT");
      this.#ping ||= this.#lastCallAt === null;
      this.#lastCallAt ??= now;
    }
    if (now >= this.#lastSentAt + MS.keepAlive) this.#ping = true;
    this.#pump({ acksWait: true });
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
    clearInterval(this.#watch);
    clearTimeout(this.#ackTimer);
    const code = CODES[reason];
    if (!byPeer && code < 128) this.#transmit({ body: Uint8Array.of(FRAME.CLOSE, code), wantsAck: false });
    this.#sealing.then(() => this.#socket.close());
    this.#onClosed(reason, byPeer);
  }
}
