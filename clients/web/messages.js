// The messages between server and client: docs/messages.md, and `sync/protocol.py` in Python. This module has their
// numbers, and the aliases and places inside them.

import { DecodeError, Reader } from "./bytes.js";

/** Numbers of the messages from the server; client methods and client properties follow (`schema.js`). */
export const TO_CLIENT = {
  CELL_LOST: 4, BASE_PLAYER: 5, CELL_PLAYER: 6, SPACE: 7, ANNOUNCE: 8, DESCRIBE: 9, SESSION: 10, LEAVE: 12, MOVED: 20,
  PLACES: 21, PLACE: 22, LOOSE: 23, RIDES: 24, RENEW: 25, SPACE_DATA: 26, LOGGED_OFF: 54, NESTED: 56, SLICE: 57,
};
/** The reason in LOGGED_OFF with which a stopping server ends every session: the player may log in again. */
export const STOPPING = 7;
/** The reason in LOGGED_OFF for a session token that is not valid: the player may log in. */
export const NOT_RESUMED = 10;
/** Stands behind a session token, where a login key has the attempt: a byte that is in no text. */
export const RESUMES = Uint8Array.of(0xff);
const TOKEN_BYTES = 16;
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

/** Reads SESSION: the token to resume with, and for how long. */
export function readSession(message) {
  const reader = new Reader(message, 1);
  const session = { token: reader.bytes(TOKEN_BYTES, "session"), ms: reader.u32("session") };
  reader.end("session");
  return session;
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
const AIR = 1;
const FULL = 2;
const STEP = Math.PI / 128; // of a packed angle
const PACKED_BYTES = [3, 5]; // on the ground, in the air; without angles

/**
 * The places of one PLACES message after another. They are decoded straight from the bytes into arrays that are used
 * again for the next message, so a place leaves no garbage.
 */
export class Places {
  turn = 0;
  count = 0;
  aliases = new Uint16Array(256);
  positions = new Float64Array(3 * 256); // x, y, z of each place
  angles = new Float64Array(3 * 256); // yaw, pitch, roll of each place, as far as they are told
  angleCounts = new Uint8Array(256);
  #x = 0; // the reference
  #y = 0;
  #z = 0;

  /** Reads the body of a message. After a DecodeError the arrays have no meaning. */
  read(reader) {
    this.count = 0;
    this.turn = reader.u8("the turn of places");
    this.#x = readInt24(reader);
    this.#z = readInt24(reader);
    this.#y = reader.f32("a reference");
    if (!Number.isFinite(this.#y)) throw new DecodeError("a reference that is not finite");
    while (reader.left) {
      const form = reader.u8("a form of places");
      const count = reader.u8("a count of places");
      if (form >> 2 > FULL) throw new DecodeError(`there is no form ${form} of places`);
      if (this.count + count > this.aliases.length) this.#grow();
      for (let each = 0; each < count; each += 1) this.#readEntry(reader, form >> 2, form & 3);
    }
  }

  #readEntry(reader, kind, angleCount) {
    const at = this.count;
    this.aliases[at] = readAlias(reader);
    this.angleCounts[at] = angleCount;
    if (kind === FULL) this.#readFull(reader, 3 * at, angleCount);
    else this.#readPacked(reader, kind, 3 * at, angleCount);
    this.count = at + 1;
  }

  #readFull(reader, to, angleCount) {
    const { view } = reader;
    let from = reader.skip(12 + 4 * angleCount, "a place");
    for (let axis = 0; axis < 3 + angleCount; axis += 1, from += 4) {
      const number = view.getFloat32(from, true);
      if (!Number.isFinite(number)) throw new DecodeError("a place that is not finite");
      if (axis < 3) this.positions[to + axis] = number;
      else this.angles[to + axis - 3] = number;
    }
  }

  #readPacked(reader, kind, to, angleCount) {
    const { data } = reader;
    const from = reader.skip(PACKED_BYTES[kind] + angleCount, "a place");
    const packed = data[from] | (data[from + 1] << 8) | (data[from + 2] << 16);
    const height = kind === AIR ? unpackMetres(data[from + 3] | (data[from + 4] << 8), 11, 15) : 0;
    this.positions[to] = this.#x + unpackMetres(packed & 0xfff, 8, 7);
    this.positions[to + 1] = this.#y + height;
    this.positions[to + 2] = this.#z + unpackMetres(packed >> 12, 8, 7);
    const angles = from + PACKED_BYTES[kind];
    for (let each = 0; each < angleCount; each += 1) {
      this.angles[to + each] = ((data[angles + each] << 24) >> 24) * STEP;
    }
  }

  /** Makes room for one section more, which has at most 255 places. */
  #grow() {
    for (const name of ["aliases", "positions", "angles", "angleCounts"]) {
      const larger = new this[name].constructor(2 * this[name].length);
      larger.set(this[name]);
      this[name] = larger;
    }
  }
}

function readInt24(reader) {
  return ((reader.u16("a reference") | (reader.u8("a reference") << 16)) << 8) >> 8;
}

/** Metres from a sign, an exponent of at most `exponentMax`, and a fraction of `fractionBits` bits. */
function unpackMetres(code, fractionBits, exponentMax) {
  const exponent = (code >> fractionBits) & exponentMax;
  const fraction = (code & ((1 << fractionBits) - 1)) / (1 << fractionBits);
  const size = (2 << exponent) * (1 + fraction) - 2;
  return code >> fractionBits > exponentMax ? -size : size;
}
