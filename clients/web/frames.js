// The frames inside the packets of the client channel, and the reliable stream that STREAM frames carry: docs/wire.md.

import { DecodeError, Reader, joinBytes } from "./bytes.js";

export const PACKET = { OPEN: 3, WELCOME: 4, REFUSE: 5, DATA: 6 };
export const FRAME = { ACK: 1, STREAM: 2, MESSAGE: 3, PING: 4, END: 5, CLOSE: 6, CHALLENGE: 7, ANSWER: 8 };
const RECEIVE_BYTES_MAX = 1 << 20;

/** The reasons for the end of a channel. The codes from 128 on are this client's own and are never sent. */
export const REASONS = {
  1: "ENDED", 2: "ABORTED", 3: "SILENT", 4: "SLOW_READER", 5: "PROTOCOL", 6: "KEYS_WORN", 7: "END_TIMEOUT",
  8: "SERVER_FULL", 9: "WRONG_VERSION", 10: "WRONG_SUITE", 11: "BANNED", 128: "NO_ANSWER", 129: "PATH_LOST",
};
export const CODES = Object.fromEntries(Object.entries(REASONS).map(([code, name]) => [name, Number(code)]));

/** The channel could not be opened; `reason` is one of REASONS. */
export class ChannelError extends Error {
  constructor(reason) {
    super(`no channel: ${reason}`);
    this.reason = reason;
  }
}

/** Of the numbers with the low 32 bits `low`, the one nearest to `near`. */
export function expand(low, near) {
  const value = near - (near % 2 ** 32) + low;
  if (value > near + 2 ** 31 && value >= 2 ** 32) return value - 2 ** 32;
  return value + 2 ** 31 < near ? value + 2 ** 32 : value;
}

/**
 * Reads the frames of a packet's body. Throws DecodeError for a body that docs/wire.md does not allow. The chunks and
 * the messages are parts of the body, not copies: nothing may change the body afterwards.
 */
export function parseBody(body) {
  const found = { wantsAck: false, chunks: [], messages: [] };
  for (const name of ["ack", "end", "close", "challenge", "answer"]) found[name] = null; // each at most once
  const reader = new Reader(body);
  if (!body.length) throw new DecodeError("an empty body");
  const once = (name, value) => {
    if (found[name] !== null) throw new DecodeError(`two ${name} frames`);
    found[name] = value;
  };
  while (reader.left) {
    const kind = reader.u8("a frame");
    if (![FRAME.ACK, FRAME.CLOSE, FRAME.ANSWER].includes(kind)) found.wantsAck = true;
    if (kind === FRAME.ACK) {
      const ack = { newest: reader.u32("ACK"), delayMs: reader.u16("ACK") / 10, received: reader.u32("ACK") };
      const size = reader.u8("ACK");
      if (size > 32) throw new DecodeError("an ACK with too many bits");
      reader.skip(size, "ACK"); // over WebSocket an ACK covers every packet up to `newest`
      once("ack", ack);
    } else if (kind === FRAME.STREAM) {
      const offset = reader.u32("STREAM");
      const size = reader.u16("STREAM");
      if (size === 0) throw new DecodeError("a STREAM of no bytes");
      found.chunks.push({ offset, bytes: reader.part(size, "STREAM") });
    } else if (kind === FRAME.MESSAGE) found.messages.push(reader.part(readStrictLength(reader), "MESSAGE"));
    else if (kind === FRAME.END) once("end", reader.u32("END"));
    else if (kind === FRAME.CLOSE) once("close", reader.u8("CLOSE"));
    else if (kind === FRAME.CHALLENGE) once("challenge", reader.bytes(8, "CHALLENGE"));
    else if (kind === FRAME.ANSWER) once("answer", reader.bytes(8, "ANSWER"));
    else if (kind !== FRAME.PING) throw new DecodeError(`no frame has the kind ${kind}`);
  }
  return found;
}

/** Reads a packed length of the channel, where the long form of a short length is malformed. */
function readStrictLength(reader) {
  const isLong = reader.data[reader.at] === 255;
  const size = reader.packedLength("a length");
  if (isLong && size < 255) throw new DecodeError("a packed length is longer than it need be");
  return size;
}

/** Joins the chunks of the reliable stream, and cuts the stream into messages. */
export class Assembly {
  received = 0; // the offset before which every byte was received
  #bytes = new Uint8Array(0); // received, but not a complete message yet

  add({ offset: low, bytes }) {
    const offset = expand(low, this.received);
    if (offset > this.received) throw new DecodeError("a gap in the stream of an ordered connection");
    const fresh = bytes.subarray(this.received - offset);
    this.received += fresh.length;
    this.#bytes = this.#bytes.length ? joinBytes(this.#bytes, fresh) : fresh;
  }

  /** Takes the complete messages, which are parts of the received bytes. */
  take() {
    const messages = [];
    const reader = new Reader(this.#bytes);
    let done = 0;
    while (reader.left && (this.#bytes[reader.at] < 255 || reader.left >= 4)) {
      const size = readStrictLength(reader);
      if (size > RECEIVE_BYTES_MAX) throw new DecodeError(`a message of ${size} bytes is over the limit`);
      if (size > reader.left) break;
      messages.push(reader.part(size, "a message"));
      done = reader.at;
    }
    this.#bytes = this.#bytes.subarray(done);
    return messages;
  }
}
