// Codecs of the values that have no other values inside: numbers, vectors, text, bytes, refs.
//
// `codec.js` has the codecs of arrays and records, and makes the codec of any type.

import { DecodeError, LENGTH_MAX, Reader, UsageError, Writer, refuse, utf8 } from "./bytes.js";

/**
 * Reads and writes the values of one type.
 *
 * `bytesMin` is the size of the type's shortest encoding. A reader compares a count of elements with the bytes that are
 * left before it makes the elements. Codecs of containers (sequences, records) also have the methods `count`, `child`
 * and `replace`, for changes inside a value.
 */
export class Codec {
  decode(data) {
    const reader = new Reader(data);
    const value = this.read(reader);
    reader.end(this.name);
    return value;
  }

  encode(value) {
    const writer = new Writer();
    this.write(writer, value);
    return writer.done();
  }

  /** The number of children of the value. */
  count() {
    throw new DecodeError(`a change goes inside a value of type ${this.name}, which has nothing inside`);
  }
}

/** A number if the integer is safe, otherwise the BigInt itself. */
export const numberIfSafe = (number) => (Number.isSafeInteger(Number(number)) ? Number(number) : number);

export class IntCodec extends Codec {
  constructor({ bits, signed }) {
    super();
    this.name = `${signed ? "INT" : "UINT"}${bits}`;
    this.bytesMin = bits / 8;
    this.low = signed ? -(2n ** BigInt(bits - 1)) : 0n;
    this.high = signed ? 2n ** BigInt(bits - 1) - 1n : 2n ** BigInt(bits) - 1n;
    this.method = `${bits === 64 ? "Big" : ""}${signed ? "Int" : "Uint"}${bits}`;
    this.getter = `get${this.method}`;
  }

  read(reader) {
    const value = reader.view[this.getter](reader.skip(this.bytesMin, this.name), true);
    return this.bytesMin === 8 ? numberIfSafe(value) : value;
  }

  write(writer, value) {
    const isInteger = Number.isInteger(value) || typeof value === "bigint";
    const fits = isInteger && value >= this.low && value <= this.high;
    if (!fits) refuse(`${this.name} (${this.low} … ${this.high})`, value);
    writer.put(this.method, this.bytesMin, this.bytesMin === 8 ? BigInt(value) : Number(value));
  }
}

function writeFloat(writer, value, bits, name) {
  if (typeof value !== "number") refuse(`${name} (a number)`, value);
  if (bits === 64) writer.put("Float64", 8, value);
  else if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) refuse(`${name} (at most 3.4e38)`, value);
  else writer.f32(value);
}

export class FloatCodec extends Codec {
  constructor({ bits }) {
    super();
    this.name = `FLOAT${bits}`;
    this.bits = bits;
    this.bytesMin = bits / 8;
  }

  read(reader) {
    return this.bits === 64 ? reader.view.getFloat64(reader.skip(8, this.name), true) : reader.f32(this.name);
  }

  write(writer, value) {
    writeFloat(writer, value, this.bits, this.name);
  }
}

export class BoolCodec extends Codec {
  name = "BOOL";
  bytesMin = 1;

  read(reader) {
    const byte = reader.u8(this.name);
    if (byte > 1) throw new DecodeError(`BOOL is 0 or 1, not ${byte} (at byte ${reader.at - 1})`);
    return byte === 1;
  }

  write(writer, value) {
    if (![true, false, 0, 1].includes(value)) refuse("BOOL (true or false)", value);
    writer.u8(value ? 1 : 0);
  }
}

export class VectorCodec extends Codec {
  constructor({ dimensions }) {
    super();
    this.name = `VECTOR${dimensions}`;
    this.dimensions = dimensions;
    this.bytesMin = 4 * dimensions;
  }

  read(reader) {
    const value = [];
    while (value.length < this.dimensions) value.push(reader.f32(this.name));
    return value;
  }

  write(writer, value) {
    if (!Array.isArray(value) || value.length !== this.dimensions) {
      refuse(`${this.name}, ${this.dimensions} numbers`, value);
    }
    for (const part of value) writeFloat(writer, part, 32, this.name);
  }
}

export function encodeText(value, name) {
  if (typeof value !== "string") refuse(`${name}, which is text`, value);
  if (/\p{Surrogate}/u.test(value)) refuse(`${name} without lone surrogates`, value);
  return utf8.encoder.encode(value);
}

export function checkLength(size, what) {
  if (size > LENGTH_MAX) throw new UsageError(`expected ${what} of at most ${LENGTH_MAX}, got ${size}`);
  return size;
}

export class TextCodec extends Codec {
  name = "UNICODE_STRING";
  bytesMin = 1;

  read(reader) {
    return reader.text(reader.packedLength(this.name), this.name);
  }

  write(writer, value) {
    const data = encodeText(value, this.name);
    writer.packedLength(checkLength(data.length, this.name)).bytes(data);
  }
}

/** The codec of STRING, BLOB and USER_TYPE, which have a packed length, and of UDO_REF, which has a fixed size. */
export class BytesCodec extends Codec {
  constructor(name, size = null) {
    super();
    this.name = name;
    this.size = size;
    this.bytesMin = size ?? 1;
  }

  read(reader) {
    return reader.bytes(this.size ?? reader.packedLength(this.name), this.name);
  }

  write(writer, value) {
    if (!(value instanceof Uint8Array)) refuse(`${this.name}, which is bytes (Uint8Array)`, value);
    if (this.size === null) writer.packedLength(checkLength(value.length, this.name));
    else if (value.length !== this.size) refuse(`${this.name} of ${this.size} bytes`, value);
    writer.bytes(value);
  }
}

export class RefCodec extends Codec {
  name = "MAILBOX";
  bytesMin = 12;

  read(reader) {
    const data = reader.bytes(12, this.name);
    if (data.every((byte) => byte === 0)) return null;
    const view = new DataView(data.buffer);
    const salt = view.getUint16(10, true);
    const ip = data.subarray(4, 8).join(".");
    return { id: view.getInt32(0, true), component: salt >> 13, typeId: salt & 0x1fff, ip, port: view.getUint16(8) };
  }

  write(writer, value) {
    if (value === null) return void writer.bytes(new Uint8Array(12));
    const { id, component = 0, typeId = 0, ip = "0.0.0.0", port = 0 } = value ?? {};
    const parts = String(ip).split(".").map(Number);
    const fits = (number, low, high) => Number.isInteger(number) && number >= low && number <= high;
    const hasNumbers = fits(id, -(2 ** 31), 2 ** 31 - 1) && fits(component, 0, 7) && fits(typeId, 0, 0x1fff);
    const hasAddress = fits(port, 0, 0xffff) && parts.length === 4 && parts.every((part) => fits(part, 0, 255));
    if (!hasNumbers || !hasAddress) refuse("a ref {id, component, typeId, ip, port} or null", value);
    writer.i32(id).bytes(Uint8Array.from([...parts, port >> 8, port & 255])).u16((component << 13) | typeId);
  }
}
