// Terrazzo for browsers: logs in, keeps a view of the world around the player, calls the server. One module, no more.
//
//     import { Client } from "./terrazzo.js";
//
//     const client = new Client({
//       onEnter: (entity) => draw(entity),                       // the player's own body too: entity.isPlayer
//       onLeave: (entity) => erase(entity),
//       onSpace: (entity) => wipe(),                             // the player is in another space; all others left
//       onMoved: (entity) => place(entity),                      // entity.position [x, y, z], entity.yaw, entity.ride
//       onChange: (entity, name, change) => redraw(entity),      // entity.properties[name]; change.path, change.old
//       onCall: (entity, name, args) => hear(entity, name, args),
//       onClosed: (sentence, mayReturn) => show(sentence),       // "" when the player left by client.leave()
//       parts: { Avatar: AvatarPart },                           // a class for each type that needs one; see below
//     });
//     const player = await client.login({ url: "ws://host:port/play", serverKey, name, password, schema });
//     client.move(3, 4, 0.5);  player.cell.say("hi");  await client.leave();
//
// The parts of entities: one object for each that is there, entity.part, made by `new AvatarPart(entity)`. Its methods
// run just before the handlers above. Those that a class does not have are passed over.
//
//     class AvatarPart {
//       constructor(entity) { this.entity = entity; }
//       onEnter() {}                       onPlayer, onLeave, onSpace, onMoved likewise
//       set_health(old) {}                 a property has a new value
//       set_nested_bag(path, old) {}       one thing inside it; path: field names and list indexes
//       set_slice_bag(path, old) {}        some elements of a list; path ends with [start, end], where the new ones are
//       on_said(words) {}                  the server calls; the name is the schema's
//     }
//
// Without set_nested_bag or set_slice_bag such a change comes to set_bag, with the whole value as it was before. A
// property of a component is told as set_health_hp, a call of its method comes to this.health.on_hurt, and to onCall as
// "health.on_hurt"; entity.cell.health.heal(5) calls one on the server.
//
// `mayReturn` is true when the connection was lost or the server is stopping: the player was not sent away, and may log in
// again as soon as the world is there. `comeBack` does that, with pauses that grow:
//
//     onClosed: (sentence, mayReturn) => mayReturn && comeBack(logInWithANewClient, { onWait: showPause });
//
// `schema` is what terrazzo.schema.export.export_schema gave, `serverKey` the cluster's public key (hex or bytes). A
// failed login rejects with one sentence for the user. The parts of this file, each standing on those before:
//
//     1 Bytes     2 Values: one codec per type     3 Schema     4 Changes inside values
//     5 Channel: docs/wire.md over WebSocket        6 View: what the server's messages do        7 Client
//
// How values look here:
//     INT8 … UINT32, FLOAT      number
//     INT64, UINT64             number while it is a safe integer (|n| < 2^53), else BigInt; both are taken when
//                               sending. Most are small counts, and numbers are what the rest of a page wants.
//     BOOL                      boolean
//     VECTOR2 … VECTOR4         array of numbers
//     UNICODE_STRING            string
//     STRING, BLOB, UDO_REF     Uint8Array;  USER_TYPE too, for its class is the game's
//     ARRAY                     array;  TUPLE: frozen array
//     FIXED_DICT                object with the fields in order, or null; a field that this client may not see has its
//                               default
//     MAILBOX                   {id, component, typeId, ip, port}, or null
//     PYTHON                    null, boolean, number, BigInt, string, Uint8Array, array, frozen array (tuple), Map,
//                               Set, Opaque. A float that is a whole number is sent back as an integer: JavaScript
//                               does not tell them apart.

// 1 Bytes ------------------------------------------------------------------------------------------------------------

/** Bytes from outside that are not an encoding of what they should be. */
export class DecodeError extends Error {}

/** A value that does not fit its declared type, or a call that cannot be made: the page's own mistake. */
export class UsageError extends Error {}

const LENGTH_MAX = 0xffffff;
const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }) };

function refuse(expected, value) {
  const shown = value instanceof Object ? value.constructor?.name : String(value);
  throw new UsageError(`expected ${expected}, got ${shown} (${typeof value})`);
}

/** Takes values off the front of some bytes. */
export class Reader {
  constructor(data, at = 0) {
    this.data = data;
    this.at = at;
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  get left() {
    return this.data.length - this.at;
  }

  /** Where the next `size` bytes begin; they are taken. */
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

  /** A copy of the next bytes. */
  bytes(size, what) {
    const at = this.skip(size, what);
    return this.data.slice(at, at + size);
  }

  /** One byte, or FF and three. */
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

  end(what) {
    if (this.left) throw new DecodeError(`${this.left} bytes too many after ${what} (at byte ${this.at})`);
  }
}

/** Collects bytes. */
export class Writer {
  constructor() {
    this.size = 0;
    this.data = new Uint8Array(64);
    this.view = new DataView(this.data.buffer);
  }

  /** Where the next `size` bytes go. */
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
    const at = this.grow(size); // first, for it may replace the view
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

function join(...pieces) {
  const writer = new Writer();
  for (const piece of pieces) writer.bytes(piece);
  return writer.done();
}

function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

// 2 Values -----------------------------------------------------------------------------------------------------------
//
// A codec reads and writes the values of one type; `least` is its shortest encoding, so that a count can be checked
// against the bytes that are left before anything is made. Those with something inside (sequences, records) also say
// how many children a value has and which, for changes that name a place inside a value.

class Codec {
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

  /** How many children the value has. */
  count() {
    throw new DecodeError(`a change goes inside a value of type ${this.name}, which has nothing inside`);
  }
}

const smallest = (number) => (Number.isSafeInteger(Number(number)) ? Number(number) : number);

class IntCodec extends Codec {
  constructor({ bits, signed }) {
    super();
    this.name = `${signed ? "INT" : "UINT"}${bits}`;
    this.least = bits / 8;
    this.low = signed ? -(2n ** BigInt(bits - 1)) : 0n;
    this.high = signed ? 2n ** BigInt(bits - 1) - 1n : 2n ** BigInt(bits) - 1n;
    this.method = `${bits === 64 ? "Big" : ""}${signed ? "Int" : "Uint"}${bits}`;
  }

  read(reader) {
    const value = reader.view[`get${this.method}`](reader.skip(this.least, this.name), true);
    return this.least === 8 ? smallest(value) : value;
  }

  write(writer, value) {
    const isNumber = Number.isInteger(value) || typeof value === "bigint";
    if (!isNumber || value < this.low || value > this.high) refuse(`${this.name} (${this.low} … ${this.high})`, value);
    writer.put(this.method, this.least, this.least === 8 ? BigInt(value) : Number(value));
  }
}

function writeFloat(writer, value, bits, name) {
  if (typeof value !== "number") refuse(`${name} (a number)`, value);
  if (bits === 64) writer.put("Float64", 8, value);
  else if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) refuse(`${name} (at most 3.4e38)`, value);
  else writer.f32(value);
}

class FloatCodec extends Codec {
  constructor({ bits }) {
    super();
    this.name = `FLOAT${bits}`;
    this.bits = bits;
    this.least = bits / 8;
  }

  read(reader) {
    return this.bits === 64 ? reader.view.getFloat64(reader.skip(8, this.name), true) : reader.f32(this.name);
  }

  write(writer, value) {
    writeFloat(writer, value, this.bits, this.name);
  }
}

class BoolCodec extends Codec {
  name = "BOOL";
  least = 1;

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

class VectorCodec extends Codec {
  constructor({ dimensions }) {
    super();
    this.name = `VECTOR${dimensions}`;
    this.dimensions = dimensions;
    this.least = 4 * dimensions;
  }

  read(reader) {
    return Array.from({ length: this.dimensions }, () => reader.f32(this.name));
  }

  write(writer, value) {
    if (!Array.isArray(value) || value.length !== this.dimensions) {
      refuse(`${this.name}, ${this.dimensions} numbers`, value);
    }
    for (const part of value) writeFloat(writer, part, 32, this.name);
  }
}

function encodeText(value, name) {
  if (typeof value !== "string") refuse(`${name}, which is text`, value);
  if (/\p{Surrogate}/u.test(value)) refuse(`${name} without lone surrogates`, value);
  return utf8.encoder.encode(value);
}

function checkLength(size, what) {
  if (size > LENGTH_MAX) throw new UsageError(`expected ${what} of at most ${LENGTH_MAX}, got ${size}`);
  return size;
}

class TextCodec extends Codec {
  name = "UNICODE_STRING";
  least = 1;

  read(reader) {
    return reader.text(reader.packedLength(this.name), this.name);
  }

  write(writer, value) {
    const data = encodeText(value, this.name);
    writer.packedLength(checkLength(data.length, this.name)).bytes(data);
  }
}

/** STRING, BLOB and USER_TYPE with a packed length; UDO_REF with a fixed size. */
class BytesCodec extends Codec {
  constructor(name, size = null) {
    super();
    this.name = name;
    this.size = size;
    this.least = size ?? 1;
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

class RefCodec extends Codec {
  name = "MAILBOX";
  least = 12;

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
    const hasPlace = fits(port, 0, 0xffff) && parts.length === 4 && parts.every((part) => fits(part, 0, 255));
    if (!hasNumbers || !hasPlace) refuse("a ref {id, component, typeId, ip, port} or null", value);
    writer.i32(id).bytes(Uint8Array.from([...parts, port >> 8, port & 255])).u16((component << 13) | typeId);
  }
}

/** Bytes of a PYTHON value that another program wrote in its own way: kept and sent back as they are. */
export class Opaque {
  constructor(bytes) {
    this.bytes = bytes;
  }
}

const PLAIN_MARK = 0xc1;
const PLAIN_DEPTH_MAX = 32;
const PLAIN_INT_BYTES_MAX = 255;
const tag = (letter) => letter.charCodeAt(0);

/** PYTHON: tagged plain data behind the byte C1; src/terrazzo/schema/plaindata.py has the table. */
class PlainCodec extends Codec {
  name = "PYTHON";
  least = 1;

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
    return smallest(BigInt.asIntN(8 * size, BigInt(`0x${digits}`)));
  }

  #writeCount(writer, count) {
    for (; count > 0x7f; count = Math.floor(count / 128)) writer.u8((count & 0x7f) | 0x80);
    writer.u8(count);
  }

  #writeOne(writer, value, depth) {
    if (depth === 0) throw new UsageError(`expected plain data nested at most ${PLAIN_DEPTH_MAX} deep, got deeper`);
    const each = (letter, items, count) => {
      this.#writeCount(writer.u8(tag(letter)), count);
      for (const item of items) this.#writeOne(writer, item, depth - 1);
    };
    if (value === null) writer.u8(tag("N"));
    else if (typeof value === "boolean") writer.u8(tag(value ? "T" : "F"));
    else if (typeof value === "bigint" || isWhole(value)) this.#writeInt(writer, BigInt(value));
    else if (typeof value === "number") writer.u8(tag("d")).put("Float64", 8, value);
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
    writer.u8(tag("i")).u8(size);
    for (let left = BigInt.asUintN(8 * size, value); size > 0; size -= 1, left >>= 8n) writer.u8(Number(left & 255n));
  }

  #writeBytes(writer, value) {
    const data = typeof value === "string" ? encodeText(value, this.name) : value;
    this.#writeCount(writer.u8(tag(typeof value === "string" ? "s" : "b")), data.length);
    writer.bytes(data);
  }

  /** The elements stand in the order of their encodings: a set has one encoding, whatever order it was made in. */
  #writeSet(writer, value, depth) {
    const parts = [...value].map((item) => {
      const inner = new Writer();
      this.#writeOne(inner, item, depth - 1);
      return inner.done();
    });
    this.#writeCount(writer.u8(tag("S")), parts.length);
    const before = (a, b) => (toHex(a) < toHex(b) ? -1 : 1);
    for (const part of parts.sort(before)) writer.bytes(part);
  }
}

/** Whether a number is written as an integer; minus zero is a float. */
function isWhole(value) {
  return Number.isSafeInteger(value) && !Object.is(value, -0);
}

/** What a Python dict or set can have as a key: nothing that can change, and nothing with such a thing inside. */
function asKey(value) {
  const changes = value instanceof Map || value instanceof Set || (Array.isArray(value) && !Object.isFrozen(value));
  if (changes) throw new DecodeError("a list, dict or set as a key in a PYTHON value");
  if (Array.isArray(value)) value.forEach(asKey);
  return value;
}

/** ARRAY and TUPLE. */
class SequenceCodec extends Codec {
  constructor(type) {
    super();
    this.isTuple = type.kind === "tuple";
    this.name = type.alias ?? (this.isTuple ? "TUPLE" : "ARRAY");
    this.element = makeCodec(type.of);
    this.size = type.size;
    this.least = this.size === null ? 1 : this.size * this.element.least;
  }

  made(items) {
    return this.isTuple ? Object.freeze(items) : items;
  }

  read(reader) {
    const count = this.size ?? reader.packedLength(this.name);
    if (count * this.element.least > reader.left) {
      throw new DecodeError(`${this.name} of ${count} elements in ${reader.left} bytes (at byte ${reader.at})`);
    }
    return this.made(Array.from({ length: count }, () => this.element.read(reader)));
  }

  write(writer, value) {
    if (!Array.isArray(value)) refuse(`${this.name}, which is an array`, value);
    if (this.size === null) writer.packedLength(checkLength(value.length, this.name));
    else if (value.length !== this.size) refuse(`${this.name} of ${this.size} elements`, value);
    for (const item of value) this.element.write(writer, item);
  }

  /** The elements that the rest of the data is made of. */
  readElements(reader, most) {
    const items = [];
    while (reader.left) {
      if (items.length === most) throw new DecodeError(`more than ${most} new elements for ${this.name}`);
      items.push(this.element.read(reader));
    }
    return items;
  }

  count(value) {
    return value.length;
  }

  child(value, index) {
    return { codec: this.element, value: value[index], step: index };
  }

  /** The value with one child replaced: the same list, or a new tuple. */
  replace(value, index, child) {
    if (this.isTuple) return this.made(value.map((item, at) => (at === index ? child : item)));
    value[index] = child;
    return value;
  }
}

/** FIXED_DICT. */
class RecordCodec extends Codec {
  constructor(type) {
    super();
    this.name = type.alias ?? "FIXED_DICT";
    this.allowNone = type.allow_none;
    this.fields = type.fields.map((field) => ({ name: field.name, codec: makeCodec(field.type) }));
    this.least = this.allowNone ? 1 : this.fields.reduce((sum, field) => sum + field.codec.least, 0);
  }

  read(reader) {
    if (this.allowNone) {
      const byte = reader.u8(this.name);
      if (byte > 1) {
        throw new DecodeError(`${this.name} begins with 0 (null) or 1, not ${byte} (at byte ${reader.at - 1})`);
      }
      if (byte === 0) return null;
    }
    const record = {};
    for (const { name, codec } of this.fields) record[name] = codec.read(reader);
    return record;
  }

  write(writer, value) {
    if (this.allowNone) writer.u8(value === null ? 0 : 1);
    if (this.allowNone && value === null) return;
    const has = value instanceof Object && Object.keys(value).length === this.fields.length;
    if (!has || !this.fields.every(({ name }) => Object.hasOwn(value, name))) {
      refuse(`${this.name} with the fields ${this.fields.map(({ name }) => name).join(", ")}`, value);
    }
    for (const { name, codec } of this.fields) codec.write(writer, value[name]);
  }

  count(value) {
    return value === null ? super.count() : this.fields.length;
  }

  child(value, index) {
    const { name, codec } = this.fields[index];
    return { codec, value: value[name], step: name };
  }

  replace(value, index, child) {
    value[this.fields[index].name] = child;
    return value;
  }
}

/** What this client may not see: it takes no bytes, and has its default. */
class HiddenCodec extends Codec {
  least = 0;

  constructor(type) {
    super();
    this.inner = makeCodec(type.of);
    this.name = this.inner.name;
    this.default = fromHex(type.default);
  }

  read() {
    return this.inner.decode(this.default);
  }

  write() {}
}

const CODECS = {
  int: (type) => new IntCodec(type),
  float: (type) => new FloatCodec(type),
  bool: () => new BoolCodec(),
  vector: (type) => new VectorCodec(type),
  text: () => new TextCodec(),
  bytes: () => new BytesCodec("BLOB"),
  user: () => new BytesCodec("USER_TYPE"),
  guid: () => new BytesCodec("UDO_REF", 16),
  python: () => new PlainCodec(),
  ref: () => new RefCodec(),
  array: (type) => new SequenceCodec(type),
  tuple: (type) => new SequenceCodec(type),
  record: (type) => new RecordCodec(type),
  hidden: (type) => new HiddenCodec(type),
};

/** The codec of a type tree, as export_schema writes it. */
export function makeCodec(type) {
  const make = CODECS[type.kind];
  if (!make) throw new UsageError(`the schema has a type of kind ${type.kind}: use the terrazzo.js that belongs to it`);
  return make(type);
}

// 3 Schema -----------------------------------------------------------------------------------------------------------

const METHODS_FROM = 59; // message ids of client methods, then those of client properties
const PROPERTIES_FROM = 158;

class Method {
  constructor(exported) {
    Object.assign(this, { name: exported.name, messageId: exported.message_id, subId: exported.sub_id });
    this.reliable = exported.reliable;
    this.allClients = exported.all_clients;
    this.args = exported.args.map((each) => makeCodec(each.type));
  }

  encodeCall(entityId, args) {
    if (args.length !== this.args.length) {
      throw new UsageError(`${this.name} takes ${this.args.length} arguments, got ${args.length}`);
    }
    const writer = new Writer().u8(this.messageId).i32(entityId);
    if (this.subId !== null) writer.u8(this.subId);
    this.args.forEach((codec, at) => codec.write(writer, args[at]));
    return writer.done();
  }

  decodeArgs(reader) {
    const args = this.args.map((codec) => codec.read(reader));
    reader.end(`the arguments of ${this.name}`);
    return args;
  }
}

/** "health.heal" as the name and the component that has it; null: the entity itself. */
function splitName(name) {
  const at = name.indexOf(".");
  return at < 0 ? [name, null] : [name.slice(at + 1), name.slice(0, at)];
}

class EntityType {
  constructor(exported, isForOwn = true) {
    const differs = (each) => each.other_type !== undefined;
    this.name = exported.name;
    this.id = exported.type_id;
    this.properties = exported.properties.map((each) => ({
      name: each.name,
      codec: makeCodec(isForOwn || !differs(each) ? each.type : each.other_type),
      isBase: each.base,
      ownClient: each.own_client,
      otherClients: each.other_clients,
      default: fromHex(isForOwn || !differs(each) ? each.default : each.other_default),
    }));
    /** The type as it is for entities that are not the player's own: there, more may be hidden. */
    this.forOthers = isForOwn && exported.properties.some(differs) ? new EntityType(exported, false) : this;
    this.basePlayer = exported.base_player;
    this.cellPlayer = exported.cell_player;
    this.clientMethods = exported.client_methods.map((each) => new Method(each));
    this.cellMethods = exported.cell_methods.map((each) => new Method(each));
    this.baseMethods = exported.base_methods.map((each) => new Method(each));
  }

  /** New properties by name, with their default values, in the order of their indexes. */
  newProperties() {
    const properties = Object.create(null);
    for (const { name, codec, default: data } of this.properties) properties[name] = codec.decode(data);
    return properties;
  }

  /** The values of a row of properties, by index, which take the rest of the bytes. */
  readRow(reader, indexes) {
    const values = indexes.map((index) => [index, this.properties[index].codec.read(reader)]);
    reader.end("the last property");
    return values;
  }

  /** A count, then index and value of each. */
  readSome(reader) {
    const values = new Map();
    for (let left = reader.u8("a number of properties"); left > 0; left -= 1) {
      const index = reader.u8("the index of a property");
      if (index >= this.properties.length || values.has(index)) {
        throw new DecodeError(`${this.name} has no property ${index}, or has had it`);
      }
      values.set(index, this.properties[index].codec.read(reader));
    }
    reader.end("the last property");
    return values;
  }
}

/** All entity types of a game, from the JSON of export_schema. */
export class Schema {
  constructor(exported) {
    if (exported.format !== 1) {
      throw new UsageError(`the schema has format ${exported.format}: use the terrazzo.js that belongs to it`);
    }
    this.digest = exported.digest;
    this.types = exported.entities.map((each) => new EntityType(each));
    this.byId = new Map(this.types.map((type) => [type.id, type]));
    this.byName = new Map(this.types.map((type) => [type.name, type]));
    // Which ids have a sub id is the same for every type: where the type with the most methods ran out of them.
    const methods = this.types.flatMap((type) => type.clientMethods);
    this.idsWithSub = new Set(methods.filter((each) => each.subId !== null).map((each) => each.messageId));
  }
}

// 4 Changes inside values --------------------------------------------------------------------------------------------
//
//     0 index                       the whole property
//     1 index (1 index)* 0 leaf     one child of the container that the indexes lead to
//     1 index (1 index)* 0 start end   a slice of that list; the message says that it is one
//
// An index among n children takes ceil(log2 n) bits, a slice bound ceil(log2 (n + 1)), most significant bit first; then
// comes padding to a whole byte, and the new value or elements.

class BitReader {
  constructor(data) {
    this.data = data;
    this.at = 0;
  }

  read(width) {
    if (this.at + width > 8 * this.data.length) throw new DecodeError("a change ends inside its path");
    let value = 0;
    for (let end = this.at + width; this.at < end; this.at += 1) {
      value = 2 * value + ((this.data[this.at >> 3] >> (7 - (this.at & 7))) & 1);
    }
    return value;
  }
}

const bitLength = (number) => (number > 0 ? 32 - Math.clz32(number) : 0);
export const indexBits = (count) => bitLength(count - 1);

/**
 * Reads a change of an entity's properties; changes nothing.
 *
 * Gives {kind: "whole" | "nested" | "slice", property, path, old, trail} and value or, for a slice, values, start, end.
 * `path` leads from the property to what changes: field names and list indexes. `trail` has the containers on the way.
 */
export function readChange(type, properties, data, isSlice) {
  const bits = new BitReader(data);
  const trail = [];
  const path = [];
  let codec = null; // of the value that the path has led to; null: still at the properties
  let value = properties;
  const count = () => (codec === null ? type.properties.length : codec.count(value));
  const down = (index) => {
    if (index >= count()) throw new DecodeError(`a change names child ${index} of ${codec?.name ?? type.name}`);
    trail.push({ codec, value, index, count: count() });
    if (codec === null) {
      ({ codec } = type.properties[index]);
      value = properties[type.properties[index].name];
    } else {
      const child = codec.child(value, index);
      path.push(child.step);
      ({ codec, value } = child);
    }
    if (codec instanceof HiddenCodec) throw new DecodeError(`a change of ${codec.name}, which is hidden here`);
  };
  while (bits.read(1)) down(bits.read(indexBits(count())));
  if (isSlice) {
    const width = bitLength(count());
    const bounds = { start: bits.read(width), end: bits.read(width) };
    const values = readSlice(codec, value, bounds, new Reader(data, (bits.at + 7) >> 3));
    const old = value.slice(bounds.start, bounds.end);
    return { kind: "slice", property: trail[0].index, path, old, trail, values, ...bounds };
  }
  down(bits.read(indexBits(count())));
  const reader = new Reader(data, (bits.at + 7) >> 3);
  const change = { kind: trail.length === 1 ? "whole" : "nested", property: trail[0].index, path, trail, old: value };
  change.value = codec.read(reader);
  reader.end("a change");
  return change;
}

function readSlice(codec, value, { start, end }, reader) {
  const isList = codec instanceof SequenceCodec && !codec.isTuple;
  if (!isList) throw new DecodeError(`a slice of ${codec?.name ?? "the properties"}, which is no list`);
  const isInside = start <= end && end <= value.length;
  if (!isInside) throw new DecodeError(`a slice from ${start} to ${end} of ${value.length} elements`);
  const values = codec.readElements(reader, codec.size === null ? LENGTH_MAX : end - start);
  const count = value.length - (end - start) + values.length;
  const fits = codec.size === null ? count <= LENGTH_MAX : count === codec.size;
  if (!fits) throw new DecodeError(`${codec.name} of ${count} elements`);
  return values;
}

/** Makes a change that readChange gave. */
export function applyChange(type, properties, change) {
  const name = type.properties[change.property].name;
  if (change.kind === "slice") {
    let list = properties[name];
    for (const step of change.path) list = list[step];
    const rest = list.slice(change.end);
    list.length = change.start;
    for (const each of change.values) list.push(each); // splice(…, ...values) takes only so many
    for (const each of rest) list.push(each);
    return;
  }
  const inward = change.trail.slice(1); // the first container is the properties themselves
  const put = (value, { codec, value: container, index }) => codec.replace(container, index, value);
  properties[name] = inward.reduceRight(put, change.value);
}

// 5 Channel ----------------------------------------------------------------------------------------------------------
//
// docs/wire.md over WebSocket (its section 12): OPEN and WELCOME agree on keys, then DATA packets of up to 16384 bytes
// carry frames. The connection loses and reorders nothing, so there is no loss detection; acknowledgements bound what
// is in flight, measure the round trip and carry the graceful end. WebCrypto works in promises, so packets wait for
// each other in two chains, one for each direction: they are opened and sent one after the other, in order.

const VERSION = 1;
const AES_256_GCM = 2;
const PACKET = { OPEN: 3, WELCOME: 4, REFUSE: 5, DATA: 6 };
const FRAME = { ACK: 1, STREAM: 2, MESSAGE: 3, PING: 4, END: 5, CLOSE: 6, CHALLENGE: 7, ANSWER: 8 };
const LABEL = utf8.encoder.encode("terrazzo client channel 1");

const PACKET_BYTES_MAX = 16384;
const HEADER_BYTES = 9;
const TAG_BYTES = 16;
const COOKIE_BYTES = 24;
const WELCOME_HEAD_BYTES = 42;
const APP_DATA_BYTES_MAX = 1024;
const UNRELIABLE_BYTES_MAX = 1024;
const UNRELIABLE_QUEUE_BYTES_MAX = 65536;
const SEND_BYTES_MAX = 65536;
const RECEIVE_BYTES_MAX = 1 << 20;
const SEND_QUEUE_BYTES_MAX = 4 << 20;
const STREAM_WINDOW_BYTES = 262144;
const WINDOW_PACKETS = { first: 32, most: 256 };
const PACKETS_MAX = 2 ** 28 - 512;
const MS = { ack: 120, keepAlive: 5000, silence: 30000, lastCall: 1000, end: 5000, handshake: 10000, watch: 250 };

/** Why a channel ended; codes from 128 on never travel. */
export const REASONS = {
  1: "ENDED", 2: "ABORTED", 3: "SILENT", 4: "SLOW_READER", 5: "PROTOCOL", 6: "KEYS_WORN", 7: "END_TIMEOUT",
  8: "SERVER_FULL", 9: "WRONG_VERSION", 10: "WRONG_SUITE", 128: "NO_ANSWER", 129: "PATH_LOST",
};
const CODES = Object.fromEntries(Object.entries(REASONS).map(([code, name]) => [name, Number(code)]));

/** A channel that could not be opened; `reason` is one of REASONS. */
export class ChannelError extends Error {
  constructor(reason) {
    super(`no channel: ${reason}`);
    this.reason = reason;
  }
}

/** The full value whose low 32 bits are `low` and which is nearest to `near`. */
export function expand(low, near) {
  const value = near - (near % 2 ** 32) + low;
  if (value > near + 2 ** 31 && value >= 2 ** 32) return value - 2 ** 32;
  return value + 2 ** 31 < near ? value + 2 ** 32 : value;
}

function nonce(number) {
  const bytes = new Uint8Array(12);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, number % 2 ** 32, true);
  view.setUint32(8, Math.floor(number / 2 ** 32), true);
  return bytes;
}

/** X25519 by WebCrypto. A page for a browser without it passes another implementation of the same shape to `login`. */
export const webAgreement = {
  async generate() {
    const { subtle } = globalThis.crypto ?? {};
    if (!subtle) throw new UsageError("This page has no WebCrypto: open it over https or on localhost.");
    let pair;
    try {
      pair = await subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]);
    } catch {
      throw new UsageError("This browser has no X25519 in WebCrypto: use a newer one.");
    }
    const publicKey = new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
    return { publicKey, agree: (peer) => webAgree(pair.privateKey, peer) };
  },
};

export async function webAgree(privateKey, peer) {
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey("raw", peer, { name: "X25519" }, false, []);
  return new Uint8Array(await subtle.deriveBits({ name: "X25519", public: key }, privateKey, 256));
}

async function hash(...pieces) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", join(...pieces)));
}

/** Keys of 32 bytes for AES-256-GCM, by HKDF. */
async function deriveKeys(secret, salt, info, count) {
  if (secret.every((byte) => byte === 0)) throw new ChannelError("PROTOCOL");
  const from = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const how = { name: "HKDF", hash: "SHA-256", salt, info: utf8.encoder.encode(info) };
  const bits = new Uint8Array(await crypto.subtle.deriveBits(how, from, 256 * count));
  const pieces = Array.from({ length: count }, (_, at) => bits.slice(32 * at, 32 * at + 32));
  const uses = ["encrypt", "decrypt"];
  return Promise.all(pieces.map((key) => crypto.subtle.importKey("raw", key, "AES-GCM", false, uses)));
}

async function seal(key, number, plain, header) {
  const how = { name: "AES-GCM", iv: nonce(number), additionalData: header, tagLength: 8 * TAG_BYTES };
  return new Uint8Array(await crypto.subtle.encrypt(how, key, plain));
}

/** What was sealed, or null if this is not what was sealed. */
async function unseal(key, number, sealed, header) {
  const how = { name: "AES-GCM", iv: nonce(number), additionalData: header, tagLength: 8 * TAG_BYTES };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(how, key, sealed));
  } catch {
    return null;
  }
}

/** The client's side of the handshake: makes OPEN, reads what answers it. */
class Handshake {
  static async start(serverKey, appData, { agreement, random }) {
    if (appData.length > APP_DATA_BYTES_MAX) {
      throw new UsageError(`application data: at most ${APP_DATA_BYTES_MAX} bytes`);
    }
    const own = await agreement.generate();
    const clientId = new DataView(random(4).buffer).getUint32(0, true);
    const hello = new Writer().u8(PACKET.OPEN).u8(VERSION).u32(clientId).u8(AES_256_GCM).bytes(own.publicKey);
    const head = hello.bytes(new Uint8Array(COOKIE_BYTES)).done(); // all zeros: the connection proves the address
    const openHash = await hash(LABEL, serverKey, head);
    const es = await own.agree(serverKey);
    const [openKey] = await deriveKeys(es, openHash, "open", 1);
    const openSeal = await seal(openKey, 0, appData, head);
    return Object.assign(new Handshake(), { own, clientId, es, openHash, openSeal, openPacket: join(head, openSeal) });
  }

  /** {serverId, sendKey, receiveKey} of a WELCOME, null for what is to be dropped; a REFUSE is a ChannelError. */
  async answer(data) {
    if (data[0] === PACKET.REFUSE && data.length >= 18) this.#onRefuse(data);
    if (data[0] !== PACKET.WELCOME || data.length !== WELCOME_HEAD_BYTES + TAG_BYTES) return null;
    const head = data.slice(0, WELCOME_HEAD_BYTES);
    const reader = new Reader(head, 2);
    if (reader.u32("WELCOME") !== this.clientId) return null;
    const serverId = reader.u32("WELCOME");
    try {
      const ee = await this.own.agree(reader.bytes(32, "WELCOME"));
      const sessionHash = await hash(this.openHash, this.openSeal, head);
      const [sendKey, receiveKey, welcomeKey] = await deriveKeys(join(this.es, ee), sessionHash, "session", 3);
      const proof = await unseal(welcomeKey, 0, data.slice(WELCOME_HEAD_BYTES), head);
      return proof === null || ee.every((byte) => byte === 0) ? null : { serverId, sendKey, receiveKey };
    } catch {
      return null; // a key that leads nowhere
    }
  }

  #onRefuse(data) {
    const echoes = sameBytes(data.slice(6, 14), this.own.publicKey.slice(0, 8));
    if (echoes && new Reader(data, 2).u32("REFUSE") === this.clientId) {
      throw new ChannelError(REASONS[data[14]] ?? "ABORTED");
    }
  }
}

/** The frames of a body; DecodeError for one that the standard does not allow. */
export function parseBody(body) {
  const found = { wantsAck: false, chunks: [], messages: [] };
  for (const name of ["ack", "end", "close", "challenge", "answer"]) found[name] = null; // these stand once
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
      found.chunks.push({ offset, bytes: reader.bytes(size, "STREAM") });
    } else if (kind === FRAME.MESSAGE) found.messages.push(reader.bytes(strictLength(reader), "MESSAGE"));
    else if (kind === FRAME.END) once("end", reader.u32("END"));
    else if (kind === FRAME.CLOSE) once("close", reader.u8("CLOSE"));
    else if (kind === FRAME.CHALLENGE) once("challenge", reader.bytes(8, "CHALLENGE"));
    else if (kind === FRAME.ANSWER) once("answer", reader.bytes(8, "ANSWER"));
    else if (kind !== FRAME.PING) throw new DecodeError(`no frame has the kind ${kind}`);
  }
  return found;
}

/** A packed length in the channel: the long form of a short length is malformed. */
function strictLength(reader) {
  const isLong = reader.data[reader.at] === 255;
  const size = reader.packedLength("a length");
  if (isLong && size < 255) throw new DecodeError("a packed length is longer than it need be");
  return size;
}

/** Puts the reliable stream together again and cuts it into messages. */
class Assembly {
  received = 0; // every byte before this offset has come
  #bytes = new Uint8Array(0);

  add({ offset: low, bytes }) {
    const offset = expand(low, this.received);
    if (offset > this.received) throw new DecodeError("a gap in the stream of an ordered connection");
    const fresh = bytes.slice(this.received - offset);
    this.received += fresh.length;
    this.#bytes = join(this.#bytes, fresh);
  }

  take() {
    const messages = [];
    const reader = new Reader(this.#bytes);
    let done = 0;
    while (reader.left && (this.#bytes[reader.at] < 255 || reader.left >= 4)) {
      const size = strictLength(reader);
      if (size > RECEIVE_BYTES_MAX) throw new DecodeError(`a message of ${size} bytes is over the limit`);
      if (size > reader.left) break;
      messages.push(reader.bytes(size, "a message"));
      done = reader.at;
    }
    this.#bytes = this.#bytes.slice(done);
    return messages;
  }
}

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

// 6 View -------------------------------------------------------------------------------------------------------------
//
// The same rules as src/terrazzo/sync/view.py and neighbours.py: a message that does not fit the story so far changes
// nothing, is counted, and goes to onViolation. The messages are those of src/terrazzo/sync/protocol.py. Others have
// short names, aliases. One is announced, and wanted at once; described, and there; it leaves, and its alias is
// released. What left is remembered for a while, so that only what has changed need be told when it comes back. What is
// unreliable (places, loose messages) and sent before the present bearer of an alias had it is known by its turn:
// src/terrazzo/sync/turns.py.

const TO_CLIENT = {
  CELL_LOST: 4, BASE_PLAYER: 5, CELL_PLAYER: 6, SPACE: 7, ANNOUNCE: 8, DESCRIBE: 9, LEAVE: 12, MOVED: 20, PLACES: 21,
  PLACE: 22, LOOSE: 23, RIDES: 24, LOGGED_OFF: 54, NESTED: 56, SLICE: 57,
};
const STOPPING = 7; // the reason in LOGGED_OFF that says nothing against the player
const TO_SERVER = { MOVE: 2, WANT: 3, RELEASED: 4, READY: 9, BYE: 11 };
const OWN = 0; // the alias of the player
const NUMBER_MAX = 2n ** 63n - 1n;
const WANTS_MAX = 80;
const RELEASED_MAX = 400;
const REMEMBERED_MAX = 256;

class Violation extends Error {}
class NoBody extends Violation {}

/** The turn of the story of aliases: a new one begins with a name that begins after one has ended. Told modulo 256. */
class Turns {
  now = 0;
  #hasEnded = false;

  end() {
    this.#hasEnded = true;
  }

  begin() {
    if (this.#hasEnded) this.now += 1;
    this.#hasEnded = false;
    return this.now;
  }

  /** A name ends and begins again, or somebody rides no longer. */
  beginAgain() {
    this.end();
    return this.begin();
  }

  /** Whether what bears a turn, as it is told, is surely about a name that began in the turn `begun`. */
  covers(told, begun) {
    const ago = (this.now - told) & 255;
    return ago < 128 && this.now - ago >= begun;
  }
}

/** Who rides on whom; src/terrazzo/sync/riding.py draws it. Each act gives the entities whose place it changed. */
class Rides {
  #riders = new Map(); // vehicle's id: its riders, by id; the vehicle need not be there
  #find;

  constructor(find) {
    this.#find = find;
  }

  /** The server says where an entity is. Of one whose vehicle is there this client knows better. */
  put(entity, position, direction) {
    if (entity.ride && this.#find(entity.ride.vehicle)) return [];
    return [Object.assign(entity, { position, direction }), ...this.carry(entity)];
  }

  /** An entity is somewhere else, or has entered: those who ride on it are there, too. */
  carry(vehicle) {
    const riders = [...(this.#riders.get(vehicle.id)?.values() ?? [])];
    return riders.map((rider) => Object.assign(rider, placeOn(vehicle, rider.ride)));
  }

  ride(entity, ride) {
    this.leave(entity);
    if (!ride.vehicle) return this.put(entity, ride.position, ride.direction);
    entity.ride = ride;
    if (!this.#riders.has(ride.vehicle)) this.#riders.set(ride.vehicle, new Map());
    this.#riders.get(ride.vehicle).set(entity.id, entity);
    const vehicle = this.#find(ride.vehicle);
    return vehicle ? [Object.assign(entity, placeOn(vehicle, ride)), ...this.carry(entity)] : [];
  }

  leave(entity) {
    if (!entity.ride) return;
    const riders = this.#riders.get(entity.ride.vehicle);
    riders.delete(entity.id);
    if (!riders.size) this.#riders.delete(entity.ride.vehicle);
    entity.ride = null;
  }
}

function placeOn(vehicle, { position: [x, y, z], direction: [yaw, pitch, roll] }) {
  const [east, north] = [Math.sin(vehicle.yaw), Math.cos(vehicle.yaw)];
  const [fromX, fromY, fromZ] = vehicle.position;
  const turned = vehicle.yaw + yaw;
  return {
    position: [fromX + x * north + z * east, fromY + y, fromZ - x * east + z * north],
    direction: [turned - 2 * Math.PI * Math.floor(turned / (2 * Math.PI) + 0.5), pitch, roll],
  };
}

/** An entity as this client knows it. */
export class Entity {
  position = [0, 0, 0];
  direction = [0, 0, 0]; // yaw, pitch, roll
  alias = OWN;
  number = 0n; // of its description
  turn = 0; // in which its alias became its own, or it rode no longer
  ride = null; // what it stands on: {vehicle, position, direction}, the place being relative to that entity
  part = null; // the page's own object for it, if its type has a class

  /** `send(message, reliable, needsBody)` gives false when it cannot be sent. */
  constructor(id, type, isPlayer, send) {
    this.id = id;
    this.type = type.name;
    this.isPlayer = isPlayer;
    this.properties = type.newProperties();
    /** The exposed methods that this client may call: entity.cell.say("hi"). Each gives true when it was sent. */
    this.cell = {};
    this.base = {};
    const add = (part, method, needsBody) => {
      const [name, component] = splitName(method.name);
      const owner = component === null ? part : (part[component] ??= {});
      owner[name] = (...args) => send(method.encodeCall(id, args), method.reliable, needsBody);
    };
    for (const method of type.cellMethods) if (isPlayer || method.allClients) add(this.cell, method, true);
    for (const method of type.baseMethods) if (isPlayer) add(this.base, method, false);
  }

  get yaw() {
    return this.direction[0];
  }
}

/** What a client sees. `events` has the on… functions of the Client; `send` is given to the entities. */
export class View {
  player = null;
  space = null; // the number of the space of the player's body; null: it has none
  entities = new Map(); // the others, by id
  isOver = false;
  violations = 0;
  late = 0; // places and loose messages that were passed over
  #byAlias = new Map(); // the others
  #announced = new Map(); // alias: {id, type, remembered, turn}
  #remembered = new Map(); // id: {type, number, properties}
  #wants = new Map(); // id: number
  #released = [];
  #resting = new Set(); // of the released, those that nobody may have until that is said
  #turns = new Turns();
  #rides = new Rides((id) => this.find(id));
  #schema;
  #events;
  #send;

  constructor(schema, events, send) {
    this.#schema = schema;
    this.#events = events;
    this.#send = send;
  }

  /** Takes one message in. Never throws because of what is in it. */
  apply(message) {
    let after;
    try {
      if (this.isOver && (message[0] === TO_CLIENT.PLACES || message[0] === TO_CLIENT.LOOSE)) {
        this.late += 1;
        return;
      }
      if (this.isOver) throw new Violation("a message after the last word");
      const reader = new Reader(message);
      after = this.#read(reader.u8("a message"), reader);
    } catch (problem) {
      if (!(problem instanceof Violation || problem instanceof DecodeError)) throw problem;
      this.violations += 1;
      after = () => this.#events.onViolation(`message ${message[0]}: ${problem.message}`);
    }
    after?.(); // the page's own code; what it throws is not the message's fault
  }

  find(id) {
    return this.player?.id === id ? this.player : this.entities.get(id);
  }

  /** What the client has to say to what it was told since the last time; reliable messages. */
  answers() {
    const [wants, released] = [[...this.#wants], this.#released];
    this.#wants = new Map();
    this.#released = [];
    this.#resting.clear();
    const messages = [];
    for (let at = 0; at < released.length; at += RELEASED_MAX) {
      const writer = new Writer().u8(TO_SERVER.RELEASED);
      for (const alias of released.slice(at, at + RELEASED_MAX)) writer.u16(alias);
      messages.push(writer.done());
    }
    for (let at = 0; at < wants.length; at += WANTS_MAX) {
      const writer = new Writer().u8(TO_SERVER.WANT);
      for (const [id, number] of wants.slice(at, at + WANTS_MAX)) writer.i32(id).u64(number);
      messages.push(writer.done());
    }
    return messages;
  }

  /** Reads everything, then changes everything; gives what to tell the page. */
  #read(number, reader) {
    switch (number) {
      case TO_CLIENT.BASE_PLAYER: return this.#onBasePlayer(reader);
      case TO_CLIENT.CELL_PLAYER: return this.#onCellPlayer(reader);
      case TO_CLIENT.CELL_LOST: return this.#onCellLost(reader);
      case TO_CLIENT.SPACE: return this.#onSpace(reader);
      case TO_CLIENT.ANNOUNCE: return this.#onAnnounce(reader);
      case TO_CLIENT.DESCRIBE: return this.#onDescribe(reader);
      case TO_CLIENT.LEAVE: return this.#onLeave(reader);
      case TO_CLIENT.MOVED: return this.#onMoved(reader);
      case TO_CLIENT.PLACES: return this.#onPlaces(reader);
      case TO_CLIENT.PLACE: return this.#onPlace(reader);
      case TO_CLIENT.RIDES: return this.#onRides(reader);
      case TO_CLIENT.LOOSE: return this.#onLoose(reader);
      case TO_CLIENT.LOGGED_OFF: return this.#onLoggedOff(reader);
      case TO_CLIENT.NESTED:
      case TO_CLIENT.SLICE: {
        const entity = this.#takeEntity(reader);
        return this.#change(entity, reader.data.slice(reader.at), number === TO_CLIENT.SLICE);
      }
      default:
        if (number >= METHODS_FROM && number < PROPERTIES_FROM) return this.#onCall(number, reader);
        if (number >= PROPERTIES_FROM && number < 255) return this.#onProperty(number - PROPERTIES_FROM, reader);
        throw new Violation(`no message has the number ${number}`);
    }
  }

  #onBasePlayer(reader) {
    const id = reader.i32("base player");
    if (this.player) throw new Violation("a second base player");
    const type = this.#takeType(reader);
    const row = type.readRow(reader, type.basePlayer);
    this.player = new Entity(id, type, true, this.#send);
    for (const [index, value] of row) this.player.properties[type.properties[index].name] = value;
    return () => this.#events.onPlayer(this.player);
  }

  #onCellPlayer(reader) {
    const player = this.#own();
    if (this.space !== null) throw new Violation("a cell player for one that has a body");
    const type = this.#typeOf(player);
    const space = reader.u32("cell player");
    const place = takePlace(reader);
    const row = type.readRow(reader, type.cellPlayer);
    for (const [index, value] of row) player.properties[type.properties[index].name] = value;
    Object.assign(player, place, { turn: this.#turns.begin() });
    this.space = space;
    return () => this.#events.onEnter(player);
  }

  #onCellLost(reader) {
    const player = this.#ownWithCell();
    reader.end("cell lost");
    this.space = null;
    const gone = [...this.#forgetAll(), player];
    this.#rides.leave(player);
    this.#resting.clear(); // the next body's eyes know nothing of the aliases that were given before,
    this.#remembered.clear(); // nor how far what was told then had come
    return () => gone.forEach((entity) => this.#events.onLeave(entity));
  }

  #onSpace(reader) {
    const player = this.#ownWithCell();
    const space = reader.u32("space");
    const place = takePlace(reader);
    reader.end("space");
    Object.assign(player, place);
    this.space = space;
    const gone = this.#forgetAll();
    return () => {
      gone.forEach((entity) => this.#events.onLeave(entity));
      this.#events.onSpace(player);
    };
  }

  #onAnnounce(reader) {
    const id = reader.i32("announce");
    const alias = takeAlias(reader);
    const type = this.#takeType(reader).forOthers;
    reader.end("announce");
    this.#ownWithCell();
    const isAnnounced = [...this.#announced.values()].some((each) => each.id === id);
    if (isAnnounced || this.find(id)) throw new Violation(`entity ${id} is announced, but is there already`);
    const isTaken = this.#byAlias.has(alias) || this.#announced.has(alias) || this.#resting.has(alias);
    if (alias === OWN || isTaken) throw new Violation(`entity ${id} is announced by alias ${alias}, which is taken`);
    const known = this.#remembered.get(id);
    const remembered = known?.type === type ? known : null;
    this.#remembered.delete(id);
    this.#announced.set(alias, { id, type, remembered, turn: this.#turns.begin() });
    this.#wants.set(id, remembered?.number ?? 0n);
    return null;
  }

  #onDescribe(reader) {
    const alias = takeAlias(reader);
    this.#ownWithCell();
    if (alias === OWN || this.#byAlias.has(alias)) throw new Violation(`alias ${alias} is described, but is there`);
    if (!this.#announced.has(alias)) throw new Violation(`alias ${alias} is described, but was not announced`);
    const { id, type, remembered, turn } = this.#announced.get(alias);
    const number = reader.u64("describe");
    if (number > NUMBER_MAX) throw new DecodeError("a number that no step has");
    const place = takePlace(reader);
    const some = type.readSome(reader);
    for (const index of some.keys()) {
      const { name, otherClients } = type.properties[index];
      if (!otherClients) throw new Violation(`${type.name}.${name} is not for other clients`);
    }
    const entity = Object.assign(new Entity(id, type, false, this.#send), place, { alias, number, turn });
    Object.assign(entity.properties, remembered?.properties);
    for (const [index, value] of some) entity.properties[type.properties[index].name] = value;
    this.#announced.delete(alias);
    this.#byAlias.set(alias, entity);
    this.entities.set(id, entity);
    const riders = this.#rides.carry(entity);
    return () => {
      this.#events.onEnter(entity);
      riders.forEach((rider) => this.#events.onMoved(rider));
    };
  }

  #onLeave(reader) {
    const alias = takeAlias(reader);
    this.#ownWithCell();
    if (!this.#byAlias.has(alias) && !this.#announced.has(alias)) throw new Violation(`alias ${alias} is nobody's`);
    reader.end("leave");
    this.#turns.end();
    const gone = this.#forget(alias);
    return () => gone.forEach((entity) => this.#events.onLeave(entity));
  }

  /** Nobody else is there any more; gives those that were there for the page. */
  #forgetAll() {
    this.#turns.end();
    const aliases = [...[...this.entities.values()].map((entity) => entity.alias), ...this.#announced.keys()];
    return aliases.flatMap((alias) => this.#forget(alias));
  }

  #forget(alias) {
    this.#released.push(alias);
    this.#resting.add(alias);
    const announced = this.#announced.get(alias);
    if (announced) {
      this.#announced.delete(alias);
      this.#wants.delete(announced.id);
      if (announced.remembered) this.#remember(announced.id, announced.remembered);
      return [];
    }
    const entity = this.#byAlias.get(alias);
    this.#byAlias.delete(alias);
    this.entities.delete(entity.id);
    this.#rides.leave(entity);
    const { number, properties } = entity;
    this.#remember(entity.id, { type: this.#typeOf(entity), number, properties });
    return [entity];
  }

  #remember(id, remembered) {
    this.#remembered.set(id, remembered);
    if (this.#remembered.size > REMEMBERED_MAX) this.#remembered.delete(this.#remembered.keys().next().value);
  }

  #onMoved(reader) {
    const player = this.#ownWithCell();
    const place = takePlace(reader);
    reader.end("moved");
    const moved = this.#rides.put(player, place.position, place.direction);
    return () => moved.forEach((entity) => this.#events.onMoved(entity));
  }

  /** Unreliable: the place of an alias that is nobody's, yet or any more, is passed over. */
  #onPlaces(reader) {
    const moved = [];
    const { turn, found } = readPlaces(reader);
    for (const { alias, position, angles } of found) {
      const entity = this.#byAlias.get(alias);
      if (!entity || !this.#turns.covers(turn, entity.turn)) this.late += 1;
      else {
        const direction = [...angles, ...entity.direction.slice(angles.length)];
        moved.push(...this.#rides.put(entity, position, direction));
      }
    }
    return () => moved.forEach((entity) => this.#events.onMoved(entity));
  }

  #onPlace(reader) {
    const alias = takeAlias(reader);
    const entity = this.#byAlias.get(alias);
    if (!entity) throw new Violation(`alias ${alias} has a place, but is not there`);
    const place = takePlace(reader);
    reader.end("place");
    const moved = this.#rides.put(entity, place.position, place.direction);
    return () => moved.forEach((each) => this.#events.onMoved(each));
  }

  #onRides(reader) {
    const entity = this.#takeEntity(reader);
    const vehicle = reader.i32("what it rides on");
    const place = takePlace(reader);
    reader.end("rides");
    if (entity.isPlayer) this.#ownWithCell();
    if (vehicle === entity.id) throw new Violation(`entity ${vehicle} rides on itself`);
    if (!entity.isPlayer && !vehicle) entity.turn = this.#turns.beginAgain();
    const moved = this.#rides.ride(entity, { vehicle, ...place });
    return () => moved.forEach((each) => this.#events.onMoved(each));
  }

  /** The player goes somewhere by itself; those who ride on it, too. */
  moveOwn(position, direction) {
    Object.assign(this.player, { position, direction });
    this.#rides.carry(this.player).forEach((rider) => this.#events.onMoved(rider));
  }

  /** A change or a call like any other, but it may come too early or too late. */
  #onLoose(reader) {
    const turn = reader.u8("the turn of a loose message");
    const number = reader.u8("a loose message");
    const inner = new Reader(reader.data, reader.at);
    const alias = takeAlias(reader);
    const isWhole = number === TO_CLIENT.NESTED && !(reader.data[reader.at] >> 7);
    if (!isWhole && (number < METHODS_FROM || number > 254)) {
      throw new DecodeError(`loose has a call or a whole property in it, not message ${number}`);
    }
    const entity = alias === OWN ? this.player : this.#byAlias.get(alias);
    try {
      if (entity && this.#turns.covers(turn, entity.turn)) return this.#read(number, inner);
    } catch (problem) {
      if (!(problem instanceof NoBody)) throw problem;
    }
    this.late += 1;
    return null;
  }

  #onLoggedOff(reader) {
    const reason = reader.u8("logged off");
    const text = new TextDecoder().decode(reader.bytes(reader.left, "logged off"));
    this.isOver = true;
    return () => this.#events.onLoggedOff(text, reason);
  }

  #onCall(number, reader) {
    const entity = this.#takeEntity(reader);
    const subId = this.#schema.idsWithSub.has(number) ? reader.u8("a sub id") : null;
    const method = this.#typeOf(entity).clientMethods.find((each) => each.messageId === number && each.subId === subId);
    if (!method) throw new DecodeError(`${entity.type} has no client method ${number}, ${subId}`);
    const args = method.decodeArgs(reader);
    return () => this.#events.onCall(entity, method.name, args);
  }

  /** A whole property: the same change as in the form with a path, and so it takes the same way. */
  #onProperty(index, reader) {
    const entity = this.#takeEntity(reader);
    const type = this.#typeOf(entity);
    if (index >= type.properties.length) throw new DecodeError(`${type.name} has no client property of index ${index}`);
    const { name, codec } = type.properties[index];
    const old = entity.properties[name];
    const change = { kind: "whole", property: index, path: [], old, trail: [], value: codec.read(reader) };
    reader.end("a property");
    return this.#make(entity, type, change);
  }

  #change(entity, data, isSlice) {
    const type = this.#typeOf(entity);
    return this.#make(entity, type, readChange(type, entity.properties, data, isSlice));
  }

  #make(entity, type, change) {
    const property = type.properties[change.property];
    const isForUs = entity.isPlayer ? property.ownClient : property.otherClients;
    if (!isForUs) throw new Violation(`${type.name}.${property.name} is not for this client`);
    if (entity.isPlayer && !property.isBase) this.#ownWithCell();
    applyChange(type, entity.properties, change);
    const { kind, path, old, start, values } = change;
    const told = kind === "slice" ? { kind, path, old, start, end: start + values.length } : { kind, path, old };
    return () => this.#events.onChange(entity, property.name, told);
  }

  #own() {
    if (!this.player) throw new Violation("a message before the base player");
    return this.player;
  }

  #ownWithCell() {
    const player = this.#own();
    if (this.space === null) throw new NoBody("a message that takes a body, but there is none");
    return player;
  }

  #takeEntity(reader) {
    const alias = takeAlias(reader);
    const entity = alias === OWN ? this.#own() : this.#byAlias.get(alias);
    if (!entity) throw new Violation(`alias ${alias} is changed or called, but is not there`);
    return entity;
  }

  #takeType(reader) {
    const id = reader.u16("an entity type");
    const type = this.#schema.byId.get(id);
    if (!type) throw new Violation(`no entity type for clients has the id ${id}`);
    return type;
  }

  #typeOf(entity) {
    const type = this.#schema.byName.get(entity.type);
    return entity.isPlayer ? type : type.forOthers;
  }
}

function finite(reader, count, what) {
  const numbers = Array.from({ length: count }, () => reader.f32(what));
  if (!numbers.every(Number.isFinite)) throw new DecodeError(`${what} that is not finite`);
  return numbers;
}

function takePlace(reader) {
  const numbers = finite(reader, 6, "a place");
  return { position: numbers.slice(0, 3), direction: numbers.slice(3) };
}

/** One byte, or 255 and two for what does not fit. */
function takeAlias(reader) {
  const short = reader.u8("an alias");
  if (short < 255) return short;
  const alias = reader.u16("an alias");
  if (alias < 255) throw new DecodeError("an alias in a longer form than it needs");
  return alias;
}

// Packed places; src/terrazzo/_speed/sight.py draws them. What is near is told relative to a reference: 12 bits for
// each of x and z on the ground, 16 more for the height in the air. Full ones are float32.

const GROUND = 0;
const FULL = 2;

function readPlaces(reader) {
  const turn = reader.u8("the turn of places");
  const [x, z] = [0, 1].map(() => (reader.u16("a reference") | (reader.u8("a reference") << 16)) << 8 >> 8);
  const [y] = finite(reader, 1, "a reference");
  const found = [];
  while (reader.left) {
    const [form, count] = [reader.u8("a form of places"), reader.u8("a count of places")];
    const [kind, turns] = [form >> 2, form & 3];
    if (kind > FULL) throw new DecodeError(`there is no form ${form} of places`);
    for (let each = 0; each < count; each += 1) {
      const alias = takeAlias(reader);
      if (kind === FULL) {
        const numbers = finite(reader, 3 + turns, "a place");
        found.push({ alias, position: numbers.slice(0, 3), angles: numbers.slice(3) });
      } else {
        const flat = reader.u16("a place") | (reader.u8("a place") << 16);
        const height = kind === GROUND ? y : y + unpack(reader.u16("a height"), 11, 15);
        const position = [x + unpack(flat & 0xfff, 8, 7), height, z + unpack(flat >> 12, 8, 7)];
        const angles = Array.from({ length: turns }, () => (((reader.u8("an angle") << 24) >> 24) * Math.PI) / 128);
        found.push({ alias, position, angles });
      }
    }
  }
  return { turn, found };
}

/** Metres from a sign, an exponent (at most `most`) and a fraction of so many bits. */
function unpack(code, bits, most) {
  const exponent = (code >> bits) & most;
  const fraction = (code & (2 ** bits - 1)) / 2 ** bits;
  const size = 2 ** (exponent + 1) * (1 + fraction) - 2;
  return code >> bits > most ? -size : size;
}

// 7 Client -----------------------------------------------------------------------------------------------------------

const TICK_MS = 100;
const MOVE_REPEAT_MS = 1000;
const ANSWER_MS = 15000;
const LEAVE_MS = 10000; // how long a client that leaves waits for the server's last word

/** Why a player is not in the world, in one sentence. */
export class LoginError extends Error {}

const WHY_NOT_OPEN = {
  NO_ANSWER: "does not answer: check the address, its public key, and that it runs",
  SERVER_FULL: "is full: try again later",
  WRONG_VERSION: "speaks another version of the protocol: reload the page",
  WRONG_SUITE: "does not allow AES-256-GCM, which browsers need",
  PATH_LOST: "cannot be reached, or closed the connection: check the address and that it runs",
};
const WHY_OVER = {
  SILENT: "has not been heard for too long: check the network and log in again",
  SLOW_READER: "has more to say than this connection takes: try a faster one",
  PROTOCOL: "and this page do not understand each other: reload the page",
  KEYS_WORN: "needs new keys after a very long session: log in again",
  PATH_LOST: "lost the connection: check the network and log in again",
};

const HANDLERS = [
  "onPlayer", "onEnter", "onLeave", "onSpace", "onMoved", "onChange", "onCall", "onViolation", "onLoggedOff",
  "onClosed",
];

/** One player's connection to the world; see the top of this file. It logs in once: make a new one for another time. */
export class Client {
  #events = {};
  #view = null;
  #channel = null;
  #mayReturn = true; // whether the player was neither sent away nor left
  #farewell = null; // what the page is told when the connection ends: set by leave() and by the server's last word
  #answering = false;
  #moveWaits = false;
  #moveSentAt = 0;
  #ticking = null;
  #now;
  #onPlayer = () => {}; // ends the wait of login()
  #leaveBy = null; // the timer of leave(), once the server was told
  #resolveLeft; // ends the wait of leave()
  #left = new Promise((resolve) => {
    this.#resolveLeft = resolve;
  });

  constructor({ parts = {}, ...handlers } = {}) {
    const unknown = Object.keys(handlers).filter((name) => !HANDLERS.includes(name));
    if (unknown.length) throw new UsageError(`a client has no ${unknown.join(", ")}; it has ${HANDLERS.join(", ")}`);
    const events = {};
    for (const name of HANDLERS) events[name] = (...args) => confined(name, () => handlers[name]?.(...args));
    this.#events = { ...events, ...partEvents(parts, events) };
  }

  get player() {
    return this.#view?.player ?? null;
  }

  /** The others in the area, by id. */
  get entities() {
    return this.#view?.entities ?? new Map();
  }

  get space() {
    return this.#view?.space ?? null;
  }

  get violations() {
    return this.#view?.violations ?? 0;
  }

  get roundTripMs() {
    return this.#channel?.roundTripMs ?? null;
  }

  /** Whether the player has a body that can move and call. */
  get hasBody() {
    return this.space !== null && this.#channel?.state === "OPEN";
  }

  /**
   * Logs in and joins the world; gives the player's entity when it is there (its body follows with onEnter).
   *
   * `gameUrl(reply)` makes the address of the game server from what the login server said, {host, ws_port}; by default
   * it is the login server's address with these two replaced. `agreement` replaces WebCrypto's X25519 where that is
   * missing.
   */
  async login({ url, serverKey, name, password, schema, gameUrl, ...options }) {
    if (this.#view) throw new UsageError("this client has logged in before: make a new one");
    const known = schema instanceof Schema ? schema : new Schema(schema);
    const key = typeof serverKey === "string" ? fromHex(serverKey) : serverKey;
    const outside = { WebSocket: globalThis.WebSocket, agreement: webAgreement, random: randomBytes, now: pageTime };
    const how = { ...outside, ...options };
    this.#now = how.now;
    this.#view = new View(known, this.#viewEvents(), (...call) => this.#call(...call));
    const request = utf8.encoder.encode(JSON.stringify({ name, password, digest: known.digest }));
    const reply = readReply(await askLogin(url, key, request, how), url);
    const address = (gameUrl ?? ((said) => replaceHost(url, said)))(reply);
    return this.#join(address, key, fromHex(reply.key), how);
  }

  /**
   * The player goes here; the server hears of the latest place once per tick. False without a body, and while it rides
   * on another entity: then it goes where that goes.
   */
  move(x, z, yaw = 0, y = this.player?.position[1] ?? 0, { pitch = 0, roll = 0 } = {}) {
    const isPlace = [x, y, z, yaw, pitch, roll].every((each) => Number.isFinite(Math.fround(each)));
    if (!isPlace) throw new UsageError("expected a place in finite numbers");
    if (!this.hasBody || this.player.ride) return false;
    this.#view.moveOwn([x, y, z], [yaw, pitch, roll]);
    this.#moveWaits = true;
    return true;
  }

  /**
   * Leaves the world; resolves when the server has confirmed with its last word that everything is saved, or the
   * connection is gone. Without that word `onClosed` is told that nothing is confirmed.
   */
  async leave() {
    if (this.#channel?.state === "CLOSED") return;
    this.#farewell ??= "";
    this.#mayReturn = false;
    if (!this.#channel) return; // still logging in: the server is told as soon as there is a session
    if (!this.#leaveBy && this.#channel.send(Uint8Array.of(TO_SERVER.BYE))) {
      this.#farewell ||= "The game server did not confirm that everything is saved: log in again, and check.";
      this.#leaveBy = setTimeout(() => this.#channel.close(), LEAVE_MS);
    }
    await this.#left;
  }

  #join(url, serverKey, loginKey, how) {
    return new Promise((resolve, reject) => {
      const fail = (sentence) => reject(new LoginError(sentence));
      const timer = setTimeout(() => {
        fail(`The game server at ${url} was reached but took too long to answer: try again later.`);
        this.#channel?.abort();
      }, ANSWER_MS);
      this.#onPlayer = (player) => {
        clearTimeout(timer);
        resolve(player);
      };
      const onClosed = (reason) => {
        clearTimeout(timer);
        const why = WHY_OVER[reason] ?? "ended the session: log in again";
        const sentence = this.#farewell ?? `The game server at ${url} ${why}.`;
        fail(sentence || "The player left before the world was there."); // does nothing once the player is there
        this.#stop(sentence, this.#mayReturn && reason !== "PROTOCOL");
      };
      const onMessage = (message) => {
        this.#view.apply(message);
        this.#answerSoon();
      };
      Channel.connect(url, serverKey, loginKey, { ...how, onMessage, onClosed }).then(
        (channel) => {
          this.#channel = channel;
          if (this.#farewell !== null) this.leave();
        },
        (error) => {
          clearTimeout(timer);
          reject(explained(error, "game", url));
        },
      );
    });
  }

  #viewEvents() {
    return {
      ...this.#events,
      onPlayer: (player) => {
        this.#channel.send(Uint8Array.of(TO_SERVER.READY));
        this.#ticking = setInterval(() => this.#tick(), TICK_MS);
        this.#onPlayer(player);
        this.#events.onPlayer(player);
      },
      onLoggedOff: (text, reason) => {
        if (this.#leaveBy) this.#farewell = "";
        else this.#farewell ??= text || "The game server logged this player off.";
        this.#mayReturn &&= reason === STOPPING;
        this.#events.onLoggedOff(text);
        this.#channel.close();
      },
    };
  }

  /** What the view has to answer, once for all messages of a packet. */
  #answerSoon() {
    if (this.#answering) return;
    this.#answering = true;
    queueMicrotask(() => {
      this.#answering = false;
      const answers = this.#view.answers();
      if (this.#channel?.state === "OPEN") for (const each of answers) this.#channel.send(each);
    });
  }

  #call(message, reliable, needsBody) {
    if (this.#channel?.state !== "OPEN" || (needsBody && !this.hasBody)) return false;
    return this.#channel.send(message, { reliable });
  }

  /** Moves are unreliable, so the latest one is repeated. A place that the server gave replaces one not sent yet. */
  #tick() {
    if (!this.hasBody || !(this.#moveWaits || this.#now() >= this.#moveSentAt + MOVE_REPEAT_MS)) return;
    this.#moveWaits = false;
    this.#moveSentAt = this.#now();
    const writer = new Writer().u8(TO_SERVER.MOVE);
    for (const each of [...this.player.position, ...this.player.direction]) writer.f32(each);
    this.#channel.send(writer.done(), { reliable: false });
  }

  #stop(sentence, mayReturn) {
    clearInterval(this.#ticking);
    clearTimeout(this.#leaveBy);
    this.#resolveLeft();
    this.#events.onClosed(sentence, mayReturn);
  }
}

/**
 * Calls `attempt` until it succeeds, and gives what it gave. Before each try there is a pause: it doubles from `firstMs`
 * to `mostMs`, and differs by chance from page to page, so that the players of a world that has restarted do not come
 * back all in the same moment. `onWait(ms, tries, error)` is called before each pause, with what the try before it threw
 * (null at first). It ends with null as soon as `isWanted()` is false, and with an error that has `isFinal`.
 */
export async function comeBack(attempt, options = {}) {
  const { onWait = () => {}, isWanted = () => true, firstMs = 500, mostMs = 15000 } = options;
  const { random = Math.random, sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } = options;
  for (let tries = 1, error = null; ; tries += 1) {
    const ms = Math.min(firstMs * 2 ** (tries - 1), mostMs) * (0.5 + random() / 2);
    onWait(ms, tries, error);
    await sleep(ms);
    if (!isWanted()) return null;
    try {
      return await attempt();
    } catch (problem) {
      if (problem.isFinal) throw problem;
      error = problem;
    }
  }
}

/** What the page's own code throws is shown, with what it was called for, and ends nothing. */
function confined(what, act) {
  try {
    act();
  } catch (error) {
    console.error(`${what}:`, error);
  }
}

/** The events that are about an entity: first its part hears of them, then the page's handlers, `after`. */
export function partEvents(classes, after) {
  const run = (entity, name, ...args) => {
    const [method, component] = splitName(name);
    const owner = component === null ? entity.part : entity.part?.[component];
    if (!hasMethod(owner, method)) return;
    confined(`${entity.type} ${entity.id}: ${name}`, () => owner[method](...args));
  };
  const make = (entity) => {
    if (!Object.hasOwn(classes, entity.type)) return;
    confined(`${entity.type} ${entity.id}: constructor`, () => {
      entity.part = new classes[entity.type](entity);
    });
  };
  const plain = (name) => (entity) => {
    if (name === (entity.isPlayer ? "onPlayer" : "onEnter")) make(entity);
    run(entity, name);
    after[name](entity);
  };
  const names = ["onPlayer", "onEnter", "onLeave", "onSpace", "onMoved"];
  return {
    ...Object.fromEntries(names.map((name) => [name, plain(name)])),
    onChange: (entity, name, change) => {
      run(entity, ...setter(entity, name, change));
      after.onChange(entity, name, change);
    },
    onCall: (entity, name, args) => {
      run(entity, name, ...args);
      after.onCall(entity, name, args);
    },
  };
}

/** Whether a part has a method of its own class by this name. */
function hasMethod(part, name) {
  return typeof part?.[name] === "function" && !(name in Object.prototype);
}

/** The name and the arguments of the callback that a change becomes. */
function setter(entity, property, change) {
  const { kind, path, old, start, end } = change;
  const name = property.replaceAll(".", "_");
  const plain = `set_${name}`;
  if (kind === "whole") return [plain, old];
  const special = `set_${kind}_${name}`;
  if (!hasMethod(entity.part, special) && hasMethod(entity.part, plain)) {
    return [plain, valueBefore(entity.properties[property], path, change)];
  }
  return [special, kind === "slice" ? [...path, [start, end]] : path, old];
}

/** A copy of a value that has changed, as it was before; `path` leads to the change from here. */
function valueBefore(value, path, change) {
  if (!path.length) {
    if (change.kind === "nested") return change.old;
    return copyOf(value.slice(0, change.start).concat(change.old, value.slice(change.end)));
  }
  return copyOf(value, (child, step) => (step === path[0] ? valueBefore(child, path.slice(1), change) : copyOf(child)));
}

/** A copy, with a copy of everything inside that a change can reach. */
function copyOf(value, inside = (child) => copyOf(child)) {
  if (Array.isArray(value)) {
    const copy = value.map((child, step) => inside(child, step));
    return Object.isFrozen(value) ? Object.freeze(copy) : copy;
  }
  if (value?.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([step, child]) => [step, inside(child, step)]));
}

function pageTime() {
  return performance.now();
}

function randomBytes(size) {
  return globalThis.crypto.getRandomValues(new Uint8Array(size));
}

function explained(error, who, url) {
  if (!(error instanceof ChannelError)) return error;
  const why = WHY_NOT_OPEN[error.reason] ?? "refused the connection: try again later";
  return new LoginError(`The ${who} server at ${url} ${why}.`);
}

/** One question to the login server: the bytes of its answer. */
async function askLogin(url, serverKey, request, how) {
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new LoginError(`The login server at ${url} ${why}.`));
    let channel;
    const timer = setTimeout(() => {
      fail("was reached but took too long to answer: try again later");
      channel?.abort();
    }, ANSWER_MS);
    const onMessage = (message) => {
      resolve(message);
      channel.close();
    };
    const onClosed = (reason) => {
      clearTimeout(timer);
      fail(WHY_OVER[reason] ?? "ended the session without an answer: try again later"); // nothing, once it is there
    };
    Channel.connect(url, serverKey, new Uint8Array(0), { ...how, onMessage, onClosed }).then(
      (opened) => {
        channel = opened;
        channel.send(request);
      },
      (error) => {
        clearTimeout(timer);
        reject(explained(error, "login", url));
      },
    );
  });
}

function readReply(data, url) {
  let reply;
  try {
    reply = JSON.parse(utf8.decoder.decode(data));
    fromHex(reply.key ?? "");
  } catch {
    throw new LoginError(`The login server at ${url} gave an answer that cannot be read: reload the page.`);
  }
  if (reply.error) throw new LoginError(reply.error);
  if (!reply.ws_port) throw new LoginError(`The login server at ${url} knows no game server that takes WebSocket.`);
  return reply;
}

function replaceHost(url, { host, ws_port: port }) {
  const address = new URL(url);
  if (host) address.hostname = host;
  address.port = String(port);
  return address.href;
}
