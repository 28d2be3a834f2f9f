// The messages between server and client, as `sync/protocol.py` defines them: numbers, aliases, places.

import { DecodeError } from "./bytes.js";

export const TO_CLIENT = {
  CELL_LOST: 4, BASE_PLAYER: 5, CELL_PLAYER: 6, SPACE: 7, ANNOUNCE: 8, DESCRIBE: 9, LEAVE: 12, MOVED: 20, PLACES: 21,
  PLACE: 22, LOOSE: 23, RIDES: 24, LOGGED_OFF: 54, NESTED: 56, SLICE: 57,
};
export const STOPPING = 7; // the reason in LOGGED_OFF that says nothing against the player
export const TO_SERVER = { MOVE: 2, WANT: 3, RELEASED: 4, READY: 9, BYE: 11 };
export const OWN = 0; // the alias of the player
export const NUMBER_MAX = 2n ** 63n - 1n;

function finite(reader, count, what) {
  const numbers = Array.from({ length: count }, () => reader.f32(what));
  if (!numbers.every(Number.isFinite)) throw new DecodeError(`${what} that is not finite`);
  return numbers;
}

export function takePlace(reader) {
  const numbers = finite(reader, 6, "a place");
  return { position: numbers.slice(0, 3), direction: numbers.slice(3) };
}

/** One byte, or 255 and two for what does not fit. */
export function takeAlias(reader) {
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

export function readPlaces(reader) {
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
