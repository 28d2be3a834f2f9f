// The messages between server and client: docs/messages.md, and `sync/protocol.py` in Python. This module has their
// numbers, and the aliases and places inside them.

import { DecodeError } from "./bytes.js";

/** Numbers of the messages from the server; client methods and client properties follow (`schema.js`). */
export const TO_CLIENT = {
  CELL_LOST: 4, BASE_PLAYER: 5, CELL_PLAYER: 6, SPACE: 7, ANNOUNCE: 8, DESCRIBE: 9, LEAVE: 12, MOVED: 20, PLACES: 21,
  PLACE: 22, LOOSE: 23, RIDES: 24, RENEW: 25, LOGGED_OFF: 54, NESTED: 56, SLICE: 57,
};
/** The reason in LOGGED_OFF with which a stopping server ends every session: the player may log in again. */
export const STOPPING = 7;
/** Numbers of the messages to the server. */
export const TO_SERVER = { MOVE: 2, WANT: 3, RELEASED: 4, READY: 9, BYE: 11 };
/** The alias of the player's own entity. */
export const OWN_ALIAS = 0;

/** A message that the messages before it do not allow. */
export class Violation extends Error {}

/** A message that needs a body of the player, while the player has none. */
export class NoBodyViolation extends Violation {}

function readFinite(reader, count, what) {
  const numbers = Array.from({ length: count }, () => reader.f32(what));
  if (!numbers.every(Number.isFinite)) throw new DecodeError(`${what} that is not finite`);
  return numbers;
}

export function readPlace(reader) {
  const numbers = readFinite(reader, 6, "a place");
  return { position: numbers.slice(0, 3), direction: numbers.slice(3) };
}

/** An alias is one byte, or 255 and two bytes if it does not fit. */
export function readAlias(reader) {
  const short = reader.u8("an alias");
  if (short < 255) return short;
  const alias = reader.u16("an alias");
  if (alias < 255) throw new DecodeError("an alias in a longer form than it needs");
  return alias;
}

// The forms of places in PLACES (docs/messages.md has the picture). GROUND and the form after it give x and z relative
// to a reference in 12 bits each. A place on the ground has the height of the reference, a place in the air has 16 bits
// for the difference. FULL places are float32.

const GROUND = 0;
const FULL = 2;

/** Reads the body of PLACES: {turn, places}, where a place has {alias, position, angles} with none to three angles. */
export function readPlaces(reader) {
  const turn = reader.u8("the turn of places");
  const [x, z] = [0, 1].map(() => (reader.u16("a reference") | (reader.u8("a reference") << 16)) << 8 >> 8);
  const [y] = readFinite(reader, 1, "a reference");
  const places = [];
  while (reader.left) {
    const [form, count] = [reader.u8("a form of places"), reader.u8("a count of places")];
    const [kind, angleCount] = [form >> 2, form & 3];
    if (kind > FULL) throw new DecodeError(`there is no form ${form} of places`);
    for (let each = 0; each < count; each += 1) {
      const alias = readAlias(reader);
      const place = kind === FULL ? readFull(reader, angleCount) : readPacked(reader, kind, [x, y, z], angleCount);
      places.push({ alias, ...place });
    }
  }
  return { turn, places };
}

function readFull(reader, angleCount) {
  const numbers = readFinite(reader, 3 + angleCount, "a place");
  return { position: numbers.slice(0, 3), angles: numbers.slice(3) };
}

function readPacked(reader, kind, [x, y, z], angleCount) {
  const packed = reader.u16("a place") | (reader.u8("a place") << 16);
  const height = kind === GROUND ? y : y + unpackMetres(reader.u16("a height"), 11, 15);
  const position = [x + unpackMetres(packed & 0xfff, 8, 7), height, z + unpackMetres(packed >> 12, 8, 7)];
  const angles = Array.from({ length: angleCount }, () => (((reader.u8("an angle") << 24) >> 24) * Math.PI) / 128);
  return { position, angles };
}

/** Metres from a sign, an exponent of at most `exponentMax`, and a fraction of `fractionBits` bits. */
function unpackMetres(code, fractionBits, exponentMax) {
  const exponent = (code >> fractionBits) & exponentMax;
  const fraction = (code & (2 ** fractionBits - 1)) / 2 ** fractionBits;
  const size = 2 ** (exponent + 1) * (1 + fraction) - 2;
  return code >> fractionBits > exponentMax ? -size : size;
}
