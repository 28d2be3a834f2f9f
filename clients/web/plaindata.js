// The codec of PYTHON values: tagged plain data behind the byte C1. `schema/plaindata.py` has the table of the tags.

import { DecodeError, Reader, UsageError, Writer, refuse, toHex } from "./bytes.js";
import { Codec, checkLength, encodeText, numberIfSafe } from "./scalars.js";

/** A PYTHON value in the encoding of another program: the client keeps the bytes and sends them back unchanged. */
export class Opaque {
  constructor(bytes) {
    this.bytes = bytes;
  }
}

const PLAIN_MARK = 0xc1;
const PLAIN_DEPTH_MAX = 32;
const PLAIN_INT_BYTES_MAX = 255;
const tagByte = (letter) => letter.charCodeAt(0);

export class PlainCodec extends Codec {
  name = "PYTHON";
  bytesMin = 1;

  read(reader) {
    const data = reader.bytes(reader.packedLength(this.name), this.name);
    if (data[0] !== PLAIN_MARK) return new Opaque(data);
    const inner = new Reader(data, 1);
    const value = this.#readOne(inner, PLAIN_DEPTH_MAX);
    inner.end(this.name);
    return value;
  }

  write(writer, value) {
    const inner = new Writer();
    if (value instanceof Opaque) inner.bytes(value.bytes);
    else this.#writeOne(inner.u8(PLAIN_MARK), value, PLAIN_DEPTH_MAX);
    writer.packedLength(checkLength(inner.size, this.name)).bytes(inner.done());
  }

  #readCount(reader) {
    let count = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 28) throw new DecodeError("a length of more than five bytes in a PYTHON value");
      const byte = reader.u8(this.name);
      count += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    if (count > reader.left) {
      throw new DecodeError(`a length of ${count} with ${reader.left} bytes left in a PYTHON value`);
    }
    return count;
  }

  #readOne(reader, depth) {
    if (depth === 0) throw new DecodeError("a PYTHON value is nested too deep");
    const letter = String.fromCharCode(reader.u8(this.name));
    const many = (times) => Array.from({ length: times }, () => this.#readOne(reader, depth - 1));
    switch (letter) {
      case "N": return null;
      case "T": return true;
      case "F": return false;
      case "i": return this.#readInt(reader);
      case "d": return reader.view.getFloat64(reader.skip(8, this.name), true);
      case "s": return reader.text(this.#readCount(reader), this.name);
      case "b": return reader.bytes(this.#readCount(reader), this.name);
      case "l": return many(this.#readCount(reader));
      case "t": return Object.freeze(many(this.#readCount(reader)));
      case "S": return new Set(many(this.#readCount(reader)).map(asKey));
      case "m": {
        const items = many(2 * this.#readCount(reader));
        return new Map(items.flatMap((key, at) => (at % 2 ? [] : [[asKey(key), items[at + 1]]])));
      }
      default: throw new DecodeError(`no PYTHON value begins with ${JSON.stringify(letter)}`);
    }
  }

  #readInt(reader) {
    const size = reader.u8(this.name);
    if (size === 0) throw new DecodeError("an integer of no bytes in a PYTHON value");
    const digits = toHex(reader.bytes(size, this.name).reverse());
    return numberIfSafe(BigInt.asIntN(8 * size, BigInt(`0x${digits}`)));
  }

  #writeCount(writer, count) {
    for (; count > 0x7f; count = Math.floor(count / 128)) writer.u8((count & 0x7f) | 0x80);
    writer.u8(count);
  }

  #writeOne(writer, value, depth) {
    if (depth === 0) throw new UsageError(`expected plain data nested at most ${PLAIN_DEPTH_MAX} deep, got deeper`);
    const each = (letter, items, count) => {
      this.#writeCount(writer.u8(tagByte(letter)), count);
      for (const item of items) this.#writeOne(writer, item, depth - 1);
    };
    if (value === null) writer.u8(tagByte("N"));
    else if (typeof value === "boolean") writer.u8(tagByte(value ? "T" : "F"));
    else if (typeof value === "bigint" || isWhole(value)) this.#writeInt(writer, BigInt(value));
    else if (typeof value === "number") writer.u8(tagByte("d")).put("Float64", 8, value);
    else if (typeof value === "string" || value instanceof Uint8Array) this.#writeBytes(writer, value);
    else if (Array.isArray(value)) each(Object.isFrozen(value) ? "t" : "l", value, value.length);
    else if (value instanceof Map) each("m", [...value].flat(1), value.size);
    else if (value instanceof Set) this.#writeSet(writer, value, depth);
    else refuse("plain data (null, boolean, number, BigInt, string, Uint8Array, array, Map, Set)", value);
  }

  #writeInt(writer, value) {
    let size = 1;
    while (BigInt.asIntN(8 * size, value) !== value) size += 1;
    if (size > PLAIN_INT_BYTES_MAX) refuse(`an integer of at most ${PLAIN_INT_BYTES_MAX} bytes`, value);
    writer.u8(tagByte("i")).u8(size);
    for (let left = BigInt.asUintN(8 * size, value); size > 0; size -= 1, left >>= 8n) writer.u8(Number(left & 255n));
  }

  #writeBytes(writer, value) {
    const data = typeof value === "string" ? encodeText(value, this.name) : value;
    this.#writeCount(writer.u8(tagByte(typeof value === "string" ? "s" : "b")), data.length);
    writer.bytes(data);
  }

  /** Writes the elements in the order of their encodings, so that equal sets have equal encodings. */
  #writeSet(writer, value, depth) {
    const parts = [...value].map((item) => {
      const inner = new Writer();
      this.#writeOne(inner, item, depth - 1);
      return inner.done();
    });
    this.#writeCount(writer.u8(tagByte("S")), parts.length);
    const before = (a, b) => (toHex(a) < toHex(b) ? -1 : 1);
    for (const part of parts.sort(before)) writer.bytes(part);
  }
}

/** Whether a number is written as an integer; minus zero is a float. */
function isWhole(value) {
  return Number.isSafeInteger(value) && !Object.is(value, -0);
}

/** Checks that a value can be a key of a Python dict or set: neither the value nor a value inside may be mutable. */
function asKey(value) {
  const isMutable = value instanceof Map || value instanceof Set || (Array.isArray(value) && !Object.isFrozen(value));
  if (isMutable) throw new DecodeError("a list, dict or set as a key in a PYTHON value");
  if (Array.isArray(value)) value.forEach(asKey);
  return value;
}
