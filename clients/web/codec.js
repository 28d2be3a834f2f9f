// Codecs of the values that have other values inside (arrays, tuples, records), and `makeCodec` for every type.

import { DecodeError, UsageError, fromHex, refuse } from "./bytes.js";
import { PlainCodec } from "./plaindata.js";
import {
  BoolCodec, BytesCodec, Codec, FloatCodec, IntCodec, RefCodec, TextCodec, VectorCodec, checkLength,
} from "./scalars.js";

/** The codec of ARRAY and TUPLE. */
export class SequenceCodec extends Codec {
  constructor(type) {
    super();
    this.isTuple = type.kind === "tuple";
    this.name = type.alias ?? (this.isTuple ? "TUPLE" : "ARRAY");
    this.element = makeCodec(type.of);
    this.size = type.size;
    this.bytesMin = this.size === null ? 1 : this.size * this.element.bytesMin;
  }

  /** A list as it is, or a tuple: a frozen array. */
  finished(items) {
    return this.isTuple ? Object.freeze(items) : items;
  }

  read(reader) {
    const count = this.size ?? reader.packedLength(this.name);
    if (count * this.element.bytesMin > reader.left) {
      throw new DecodeError(`${this.name} of ${count} elements in ${reader.left} bytes (at byte ${reader.at})`);
    }
    const items = [];
    while (items.length < count) items.push(this.element.read(reader));
    return this.finished(items);
  }

  write(writer, value) {
    if (!Array.isArray(value)) refuse(`${this.name}, which is an array`, value);
    if (this.size === null) writer.packedLength(checkLength(value.length, this.name));
    else if (value.length !== this.size) refuse(`${this.name} of ${this.size} elements`, value);
    for (const item of value) this.element.write(writer, item);
  }

  /** Reads elements until the end of the data; at most `countMax`. */
  readElements(reader, countMax) {
    const items = [];
    while (reader.left) {
      if (items.length === countMax) throw new DecodeError(`more than ${countMax} new elements for ${this.name}`);
      items.push(this.element.read(reader));
    }
    return items;
  }

  count(value) {
    return value.length;
  }

  /** One child: its codec, its value, and the step that leads to it in a path. */
  child(value, index) {
    return { codec: this.element, value: value[index], step: index };
  }

  /** Replaces one child; returns the same list, or a new tuple. */
  replace(value, index, child) {
    if (this.isTuple) return this.finished(value.map((item, at) => (at === index ? child : item)));
    value[index] = child;
    return value;
  }
}

/** The codec of FIXED_DICT. */
class RecordCodec extends Codec {
  constructor(type) {
    super();
    this.name = type.alias ?? "FIXED_DICT";
    this.allowNone = type.allow_none;
    this.fields = type.fields.map((field) => ({ name: field.name, codec: makeCodec(field.type) }));
    this.bytesMin = this.allowNone ? 1 : this.fields.reduce((sum, field) => sum + field.codec.bytesMin, 0);
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
    const hasCount = value instanceof Object && Object.keys(value).length === this.fields.length;
    if (!hasCount || !this.fields.every(({ name }) => Object.hasOwn(value, name))) {
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

/** The codec of a value that is hidden from this client: the encoding has no bytes, and the value is the default. */
export class HiddenCodec extends Codec {
  bytesMin = 0;

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

/** Makes the codec of a type, from the type tree that export_schema writes. */
export function makeCodec(type) {
  const make = CODECS[type.kind];
  if (!make) throw new UsageError(`the schema has a type of kind ${type.kind}: use the terrazzo.js that belongs to it`);
  return make(type);
}
