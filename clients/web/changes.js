// Changes of properties: the whole property, one child inside its value, or a slice of a list inside its value.
//
//     0 index                       the whole property
//     1 index (1 index)* 0 leaf     one child of the container that the indexes lead to
//     1 index (1 index)* 0 start end   a slice of that list; the number of the message is SLICE
//
// An index among n children takes ceil(log2 n) bits, a bound of a slice takes ceil(log2 (n + 1)), most significant bit
// first. Padding to a whole byte follows, then the new value or the new elements.

import { DecodeError, LENGTH_MAX, Reader } from "./bytes.js";
import { HiddenCodec, SequenceCodec } from "./codec.js";

class BitReader {
  constructor(data, at) {
    this.data = data;
    this.at = 8 * at; // in bits
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
 * Reads a change of an entity's properties, without applying it. `source` has the bytes of the change; a Reader has them
 * from its position to its end.
 *
 * Returns {kind: "whole" | "nested" | "slice", property, path, old, trail} and also `value` or, for a slice, `values`,
 * `start` and `end`. `path` leads from the property to the changed child: field names and list indexes. `trail` has the
 * containers on this path.
 */
export function readChange(type, properties, source, isSlice) {
  const reader = source instanceof Reader ? source : new Reader(source);
  const bits = new BitReader(reader.data, reader.at);
  const trail = [];
  const path = [];
  let codec = null; // the codec of `value`, at the present end of the path; null: `value` is the properties
  let value = properties;
  const count = () => (codec === null ? type.properties.length : codec.count(value));
  const descend = (index) => {
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
  while (bits.read(1)) descend(bits.read(indexBits(count())));
  if (isSlice) {
    const width = bitLength(count());
    const bounds = { start: bits.read(width), end: bits.read(width) };
    reader.at = (bits.at + 7) >> 3;
    const values = readSlice(codec, value, bounds, reader);
    const old = value.slice(bounds.start, bounds.end);
    return { kind: "slice", property: trail[0].index, path, old, trail, values, ...bounds };
  }
  descend(bits.read(indexBits(count())));
  reader.at = (bits.at + 7) >> 3;
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

/** Applies a change that readChange has read. */
export function applyChange(type, properties, change) {
  const name = type.properties[change.property].name;
  if (change.kind === "slice") {
    let list = properties[name];
    for (const step of change.path) list = list[step];
    const rest = list.slice(change.end);
    list.length = change.start;
    for (const each of change.values) list.push(each); // splice(…, ...values) fails for long lists
    for (const each of rest) list.push(each);
    return;
  }
  const containers = change.trail.slice(1); // without the first, which is the properties themselves
  const put = (value, { codec, value: container, index }) => codec.replace(container, index, value);
  properties[name] = containers.reduceRight(put, change.value);
}
