// The outbox of a channel: messages that are queued and not sent yet, and the content of the next packet.
//
// Reliable messages form one stream of bytes, each message behind its length; STREAM frames carry pieces of the stream.
// An unreliable message is a MESSAGE frame of its own.

import { Writer } from "./bytes.js";
import { FRAME } from "./frames.js";

const STREAM_HEAD_BYTES = 7;
const UNRELIABLE_QUEUE_BYTES_MAX = 65536;

export class Outbox {
  sent = 0; // the offset of the stream up to which bytes were sent
  streamBytes = 0; // bytes of the stream that are queued
  #stream = []; // queued pieces of the stream: messages with their lengths; the front of the first may have been sent
  #unreliable = []; // queued unreliable messages
  #unreliableBytes = 0;

  get hasUnreliable() {
    return this.#unreliable.length > 0;
  }

  addReliable(message) {
    const piece = new Writer().packedLength(message.length).bytes(message).done();
    this.#stream.push(piece);
    this.streamBytes += piece.length;
  }

  /** Queues an unreliable message; the oldest are dropped when the queue is too long. */
  addUnreliable(message) {
    this.#unreliable.push(message);
    this.#unreliableBytes += message.length;
    while (this.#unreliableBytes > UNRELIABLE_QUEUE_BYTES_MAX) this.#unreliableBytes -= this.#unreliable.shift().length;
  }

  /**
   * Writes a STREAM frame of at most `streamRoom` bytes, then MESSAGE frames, into the `room` bytes of a packet.
   *
   * If the packet has a STREAM frame, the messages get half of the room, or one larger message gets more than half.
   */
  writeContent(writer, room, streamRoom) {
    const messages = this.#takeMessages(room, streamRoom > 0 ? room >> 1 : room);
    const used = messages.reduce((sum, message) => sum + frameBytes(message), 0);
    const size = Math.min(streamRoom, room - used - STREAM_HEAD_BYTES);
    if (size > 0) writer.u8(FRAME.STREAM).u32(this.sent % 2 ** 32).u16(size).bytes(this.#takeStream(size));
    for (const message of messages) writer.u8(FRAME.MESSAGE).packedLength(message.length).bytes(message);
  }

  #takeMessages(room, share) {
    const messages = [];
    let used = 0;
    while (this.#unreliable.length) {
      used += frameBytes(this.#unreliable[0]);
      if (used > room || (messages.length && used > share)) break;
      messages.push(this.#unreliable.shift());
      this.#unreliableBytes -= messages.at(-1).length;
    }
    return messages;
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
    this.streamBytes -= size;
    this.sent += size;
    return writer.done();
  }
}

/** The size of the MESSAGE frame of a message. */
function frameBytes(message) {
  return message.length + (message.length < 255 ? 2 : 5);
}
