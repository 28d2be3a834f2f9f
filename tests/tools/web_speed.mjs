// Measures one copy of the browser client: nanoseconds and bytes of garbage for each entry that it decodes.
//
//     node FLAGS web_speed.mjs FOLDER < order.json
//
// `order.json` comes from web_speed.py: the schema, the messages that make a view, and for each case its messages and
// how many entries they have. By the flags, the young generation is so large that no collection happens while bytes are
// counted.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Schema, View, fromHex, partEvents } = await import(pathToFileURL(`${process.argv[2]}/terrazzo.js`).href);
const order = JSON.parse(readFileSync(0, "utf8"));
const schema = new Schema(order.schema);
const HANDLERS = ["onPlayer", "onEnter", "onLeave", "onSpace", "onMoved", "onChange", "onCall"];

/** A view in the middle of its world. What the page asks for it counts; for the rest it has no handlers. */
function viewOf(asked) {
  let count = 0;
  const page = Object.fromEntries(HANDLERS.map((name) => [name, asked.includes(name) ? () => (count += 1) : null]));
  const events = eventsOf(page);
  events.onViolation = (what) => {
    throw new Error(what);
  };
  const view = new View(schema, events, () => false);
  for (const message of order.story) view.apply(fromHex(message));
  view.answers();
  return { view, events: () => count };
}

/** As a Client makes them. A client of before 2026-11 has a function for each event, whatever the page asks for. */
function eventsOf(page) {
  const needsAll = partEvents({}, {}).onMoved !== null;
  const filled = Object.fromEntries(HANDLERS.map((name) => [name, page[name] ?? (needsAll ? () => {} : null)]));
  return { ...filled, ...partEvents({}, filled) };
}

const spent = () => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

function measure({ messages, entries, asked }) {
  const { view, events } = viewOf(asked);
  const data = messages.map(fromHex);
  const pass = () => {
    for (const message of data) view.apply(message);
  };
  const passes = Math.ceil(order.entries / entries);
  for (let round = 0; round < order.warm * passes; round += 1) pass();
  const times = [];
  let garbage = Infinity;
  for (let round = 0; round < order.rounds; round += 1) {
    globalThis.gc();
    const before = spent();
    const start = process.cpuUsage();
    const at = process.hrtime.bigint();
    for (let each = 0; each < passes; each += 1) pass();
    const ns = Number(process.hrtime.bigint() - at);
    const { user, system } = process.cpuUsage(start);
    times.push(Math.min(ns, 1000 * (user + system)));
    garbage = Math.min(garbage, spent() - before);
  }
  const count = entries * passes;
  return {
    ns_per_entry: Math.round((100 * Math.min(...times)) / count) / 100,
    bytes_per_entry: Math.round((10 * Math.max(garbage, 0)) / count) / 10,
    events: events(),
    late: view.late,
  };
}

console.log(JSON.stringify(Object.fromEntries(order.cases.map((each) => [each.name, measure(each)]))));
