// Bytes: the Reader and the Writer of all encodings, hexadecimal text, and the errors of a wrong encoding and a wrong
// value.

/** Bytes from outside are not a valid encoding. */
export class DecodeError extends Error {}

/** The page made a mistake: a value does not fit its declared type, or a call cannot be made. */
export class UsageError extends Error {}

/** The largest packed length: three bytes. */
export const LENGTH_MAX = 0xffffff;
export const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }) };

export function refuse(expected, value) {
  const shown = value instanceof Object ? value.constructor?.name : String(value);
  throw new UsageError(`expected ${expected}, got ${shown} (${typeof value})`);
}

/** Reads values from bytes, from front to back. `what` names the value in the error of a read that fails. */
export class Reader {
  constructor(data, at = 0) {
    this.data = data;
    this.at = at;
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  get left() {
    return this.data.length - this.at;
  }

  /** Moves past the next `size` bytes; returns the offset where they begin. */
  skip(size, what) {
    if (size > this.left) {
      throw new DecodeError(`${what} needs ${size} more bytes, ${this.left} are left (at byte ${this.at})`);
    }
    this.at += size;
    return this.at - size;
  }

  u8(what) {
    return this.data[this.skip(1, what)];
  }

  u16(what) {
    return this.view.getUint16(this.skip(2, what), true);
  }

  u32(what) {
    return this.view.getUint32(this.skip(4, what), true);
  }

  i32(what) {
    return this.view.getInt32(this.skip(4, what), true);
  }

  u64(what) {
    return this.view.getBigUint64(this.skip(8, what), true);
  }

  f32(what) {
    return this.view.getFloat32(this.skip(4, what), true);
  }

  /** The next bytes in place: a view of the reader's own data. */
  part(size, what) {
    const at = this.skip(size, what);
    return this.data.subarray(at, at + size);
  }

  /** A copy of the next bytes. */
  bytes(size, what) {
    const at = this.skip(size, what);
    return this.data.slice(at, at + size);
  }

  /** A packed length is one byte, or FF and three bytes. */
  packedLength(what) {
    const short = this.u8(what);
    if (short < 255) return short;
    const at = this.skip(3, what);
    return this.data[at] | (this.data[at + 1] << 8) | (this.data[at + 2] << 16);
  }

  text(size, what) {
    const at = this.skip(size, what);
    try {
      return utf8.decoder.decode(this.data.subarray(at, at + size));
    } catch {
      throw new DecodeError(`${what} is not UTF-8 (at byte ${at})`);
    }
  }

  /** Checks that no bytes are left after the last value, `what`. */
  end(what) {
    if (this.left) throw new DecodeError(`${this.left} bytes too many after ${what} (at byte ${this.at})`);
  }
}

/** Collects bytes. Its methods return the writer itself, so that calls can be chained. */
export class Writer {
  constructor() {
    this.size = 0;
    this.data = new Uint8Array(64);
    this.view = new DataView(this.data.buffer);
  }

  /** Makes room for the next `size` bytes; returns the offset where they go. */
  grow(size) {
    if (this.size + size > this.data.length) {
      const larger = new Uint8Array(Math.max(2 * this.data.length, this.size + size));
      larger.set(this.data);
      this.data = larger;
      this.view = new DataView(larger.buffer);
    }
    this.size += size;
    return this.size - size;
  }

  /** One number, by the name of its DataView method: put("Uint16", 2, 7). */
  put(kind, size, value) {
    const at = this.grow(size); // comes first, because it may replace the view
    this.view[`set${kind}`](at, value, true);
    return this;
  }

  u8(value) {
    return this.put("Uint8", 1, value);
  }

  u16(value) {
    return this.put("Uint16", 2, value);
  }

  u32(value) {
    return this.put("Uint32", 4, value);
  }

  i32(value) {
    return this.put("Int32", 4, value);
  }

  u64(value) {
    return this.put("BigUint64", 8, value);
  }

  f32(value) {
    return this.put("Float32", 4, value);
  }

  bytes(value) {
    const at = this.grow(value.length);
    this.data.set(value, at);
    return this;
  }

  packedLength(value) {
    if (value < 255) return this.u8(value);
    return this.u8(255).u8(value & 255).u8((value >> 8) & 255).u8(value >> 16);
  }

  done() {
    return this.data.slice(0, this.size);
  }
}

export function fromHex(text) {
  if (!/^([0-9a-f]{2})*$/i.test(text)) throw new DecodeError("not hexadecimal");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function joinBytes(...pieces) {
  const writer = new Writer();
  for (const piece of pieces) writer.bytes(piece);
  return writer.done();
}

export function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
