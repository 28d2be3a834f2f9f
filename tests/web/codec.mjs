// Answers questions about values and changes, one line of JSON each, with the browser client's codec.

import { createInterface } from "node:readline";
import {
  DecodeError, Opaque, Schema, UsageError, View, Writer, applyChange, fromHex, indexBits, makeCodec, parseBody,
  partEvents, readChange, toHex,
} from "../../clients/web/terrazzo.js";

/** A value as JSON that Python can compare; see `portable` in test_web_codec.py. */
function portable(value) {
  if (typeof value === "bigint") return { $big: String(value) };
  if (typeof value === "number") return Number.isFinite(value) ? value : { $float: String(value) };
  if (value instanceof Uint8Array) return { $hex: toHex(value) };
  if (value instanceof Opaque) return { $opaque: toHex(value.bytes) };
  if (Array.isArray(value)) return Object.isFrozen(value) ? { $tuple: value.map(portable) } : value.map(portable);
  if (value instanceof Map) return { $map: [...value].map(([key, each]) => [portable(key), portable(each)]) };
  if (value instanceof Set) return { $set: value.size };
  if (value instanceof Object) return { $record: Object.entries(value).map(([name, each]) => [name, portable(each)]) };
  return value;
}

/** The bits of a change, made again from what was read of it: what a server would have sent. */
function encodeChange(type, { kind, trail, start, end, value, values, codec, count }) {
  const bits = [];
  const put = (number, width) => {
    for (let at = width - 1; at >= 0; at -= 1) bits.push((number >> at) & 1);
  };
  const steps = kind === "slice" ? trail : trail.slice(0, -1);
  for (const step of steps) {
    put(1, 1);
    put(step.index, indexBits(step.count));
  }
  put(0, 1);
  if (kind === "slice") {
    const width = indexBits(count + 1);
    put(start, width);
    put(end, width);
  } else put(trail.at(-1).index, indexBits(trail.at(-1).count));
  const writer = new Writer();
  for (let at = 0; at < bits.length; at += 8) {
    writer.u8(parseInt(bits.slice(at, at + 8).join("").padEnd(8, "0"), 2));
  }
  if (kind === "slice") for (const each of values) codec.element.write(writer, each);
  else codec.write(writer, value);
  return writer.done();
}

/** The codec of the changed place, and how many children it has. */
function follow(type, properties, change) {
  let { codec } = type.properties[change.property];
  let value = properties[type.properties[change.property].name];
  for (const { index } of change.trail.slice(1)) ({ codec, value } = codec.child(value, index));
  return { codec, count: change.kind === "slice" ? value.length : 0 };
}

let schema = null;

/** What a view tells of each message, and what it knows in the end. */
function live(messages) {
  const told = [];
  const about = (event) => (entity, ...rest) => told.at(-1).push([event, entity.id, ...rest.slice(0, 1)]);
  const events = {
    onPlayer: about("player"), onEnter: about("enter"), onLeave: about("leave"), onMoved: about("moved"),
    onSpace: about("space"), onChange: about("change"), onCall: about("call"),
    onSpaceData: (entity, changed) => told.at(-1).push(["space data", entity.id, [...changed.keys()]]),
    onViolation: () => told.at(-1).push(["violation"]),
    onLoggedOff: (text) => told.at(-1).push(["logged off", text]),
  };
  const view = new View(schema, events, () => false);
  const answers = [];
  for (const message of messages) {
    told.push([]);
    if (message !== "answers") view.apply(fromHex(message));
    else answers.push(view.answers().map(toHex));
  }
  const known = [view.player, ...view.entities.values()].filter((entity) => entity !== null);
  const state = ({ type, isPlayer, properties }) => {
    const known = isPlayer ? schema.byName.get(type) : schema.byName.get(type).forOthers;
    const pieces = known.properties.map(({ name, codec }) => toHex(codec.encode(properties[name])));
    return pieces.join("");
  };
  const states = known.map((entity) => [entity.id, state(entity), entity.position, entity.direction]);
  return { told, answers, known: states, space: view.space, data: Object.entries(view.spaceData), late: view.late };
}

/** What the parts of entities hear, if they have methods of these names (`component.name` for one of a component);
 * those of `failing` throw, too. */
function hear({ messages, names, failing }) {
  const heard = [];
  class Part {
    constructor(entity) {
      this.entity = entity;
    }
  }
  for (const name of names) {
    const words = name.split(".");
    const owner = words.length > 1 ? (Part.prototype[words[0]] ??= {}) : Part.prototype;
    owner[words.at(-1)] = function record(...args) {
      heard.push([name, args.map(portable)]);
      if (failing.includes(name)) throw new Error(name);
    };
  }
  const ignore = () => {};
  const after = {};
  for (const name of ["onPlayer", "onEnter", "onLeave", "onSpace", "onSpaceData", "onMoved", "onChange", "onCall"]) after[name] = ignore;
  const classes = Object.fromEntries(schema.types.map(({ name }) => [name, Part]));
  const events = { ...partEvents(classes, after), onViolation: ignore, onLoggedOff: ignore };
  const view = new View(schema, events, () => false);
  const complaints = [];
  const { error } = console;
  console.error = (what, problem) => complaints.push(`${what} ${problem.message}`);
  for (const message of messages) view.apply(fromHex(message));
  console.error = error;
  return { heard, complaints, violations: view.violations };
}

/**
 * The same messages for a page that asks for no events of moves and changes. The places of all entities are looked at
 * through the arrays that they had after the first `begun` messages.
 */
function quiet({ messages, begun }) {
  const events = partEvents({}, {});
  const isQuiet = events.onMoved === null && events.onChange === null;
  const view = new View(schema, { ...events, onViolation: () => {}, onLoggedOff: () => {} }, () => false);
  for (const message of messages.slice(0, begun)) view.apply(fromHex(message));
  const known = [view.player, ...view.entities.values()];
  const places = known.map(({ id, position, direction }) => [id, position, direction]);
  for (const message of messages.slice(begun)) view.apply(fromHex(message));
  const properties = known.map((entity) => portable({ ...entity.properties }));
  return { isQuiet, places, properties, late: view.late, violations: view.violations };
}

const ACTIONS = {
  hear,
  quiet,
  value({ type, hex }) {
    const codec = makeCodec(type);
    const value = codec.decode(fromHex(hex));
    return { value: portable(value), hex: toHex(codec.encode(value)) };
  },
  schema({ exported }) {
    schema = new Schema(exported);
    return { digest: schema.digest };
  },
  change({ entity, property, before, external, isSlice }) {
    const type = schema.byName.get(entity);
    const properties = type.newProperties();
    const { name, codec } = type.properties[property];
    properties[name] = codec.decode(fromHex(before));
    const change = readChange(type, properties, fromHex(external), isSlice);
    const again = toHex(encodeChange(type, { ...change, ...follow(type, properties, change) }));
    applyChange(type, properties, change);
    const { kind, path, old } = change;
    const after = toHex(codec.encode(properties[name]));
    return { kind, path, old: portable(old), property: change.property, after, again };
  },
  view: ({ messages }) => live(messages),
  call({ entity, side, method, args }) {
    const found = schema.byName.get(entity)[`${side}Methods`].find((each) => each.name === method);
    return { hex: toHex(found.encodeCall(7, args)) };
  },
  /** What the player sends when the page calls the function at this path, "cell.say". */
  sends({ messages, path, args }) {
    const sent = [];
    const about = Object.fromEntries(["onPlayer", "onViolation"].map((name) => [name, () => {}]));
    const view = new View(schema, about, (message) => sent.push(toHex(message)));
    for (const message of messages) view.apply(fromHex(message));
    path.split(".").reduce((owner, name) => owner[name], view.player)(...args);
    return { sent };
  },
  body({ hex }) {
    parseBody(fromHex(hex));
    return {};
  },
  encode({ type, value }) {
    return { hex: toHex(makeCodec(type).encode(value)) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { op, ...question } = JSON.parse(line);
  let answer;
  try {
    answer = ACTIONS[op](question);
  } catch (error) {
    if (!(error instanceof DecodeError || error instanceof UsageError)) throw error;
    answer = { error: error.message, kind: error.constructor.name };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
