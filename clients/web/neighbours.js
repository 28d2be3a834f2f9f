// The neighbours: all entities of a client's view except the player's own, and the answers to the messages about them.
//
//     ANNOUNCE an alias ──DESCRIBE──► present: changes, calls, places ──LEAVE, SPACE, CELL_LOST──► gone
//             └───────────── LEAVE, SPACE, CELL_LOST: the page never sees the entity ──────────────────┘
//
// The rules are those of `sync/neighbours.py`. An alias is the short name of an entity between the server and one
// client. The client answers each announcement with WANT, and the end of each alias with RELEASED; until RELEASED is
// sent, the server must not give the alias to another entity.
//
// Memory. The client keeps the properties of an entity that left, with the number of its description, and puts this
// number into the next WANT: the server then describes only the properties that may have changed since. CELL_LOST ends
// the memory, because the witness of the next body may describe an older copy of the entity.

import { DecodeError, Writer } from "./bytes.js";
import { Entity } from "./entity.js";
import { OWN_ALIAS, TO_SERVER, Violation, readPlace } from "./messages.js";

const NUMBER_MAX = 2n ** 63n - 1n;
const WANTS_PER_MESSAGE = 80;
const RELEASED_PER_MESSAGE = 400;
const REMEMBERED_MAX = 256;

/**
 * The count of turns: `sync/turns.py`. An unreliable message bears the turn of its sending, modulo 256. The turn tells
 * whether the message is about the present entity of an alias or about a former one.
 */
export class Turns {
  now = 0;
  #hasEnded = false;

  /** One alias, or all of them, ended. */
  end() {
    this.#hasEnded = true;
  }

  /** An alias begins; returns its turn. A new turn begins if an alias ended since the last beginning. */
  begin() {
    if (this.#hasEnded) this.now += 1;
    this.#hasEnded = false;
    return this.now;
  }

  /** An alias ends and begins again, or its entity stopped riding; returns the new turn. */
  beginAgain() {
    this.end();
    return this.begin();
  }

  /** A name goes on in the turn of a RENEW, which is the present turn or the next one; returns the turn. */
  renew(turn) {
    const ahead = (turn - this.now) & 255;
    if (ahead > 1) throw new DecodeError(`the turn ${turn} is told, but the present one is ${this.now & 255}`);
    this.now += ahead;
    return this.now;
  }

  /** Whether a message that bears the byte `turn` was sent after an alias began in the turn `begun`. */
  covers(turn, begun) {
    const turnsAgo = (this.now - turn) & 255;
    return turnsAgo < 128 && this.now - turnsAgo >= begun;
  }
}

export class Neighbours {
  entities = new Map(); // the present neighbours by id, in the order of their descriptions
  #byAlias = new Map(); // the same entities
  #announced = new Map(); // by alias: {id, type, remembered, turn}
  #remembered = new Map(); // by id, for entities that left: {type, number, properties}
  #wants = new Map(); // for the next WANT: id to the number of the remembered description, 0n without one
  #released = []; // aliases for the next RELEASED
  #blocked = new Set(); // released aliases that the server must not use again before that RELEASED
  #schema;
  #turns;
  #send;

  /** `send` is the function that the entities call to send a message. */
  constructor(schema, turns, send) {
    this.#schema = schema;
    this.#turns = turns;
    this.#send = send;
  }

  byAlias(alias) {
    return this.#byAlias.get(alias);
  }

  /** An entity is in the area, under this alias. */
  announce(id, alias, type) {
    const isAnnounced = [...this.#announced.values()].some((each) => each.id === id);
    if (isAnnounced || this.entities.has(id)) throw new Violation(`entity ${id} is announced a second time`);
    const isTaken = this.#byAlias.has(alias) || this.#announced.has(alias) || this.#blocked.has(alias);
    if (alias === OWN_ALIAS || isTaken) throw new Violation(`entity ${id} is announced by the taken alias ${alias}`);
    const known = this.#remembered.get(id);
    const remembered = known?.type === type ? known : null;
    this.#remembered.delete(id);
    this.#announced.set(alias, { id, type, remembered, turn: this.#turns.begin() });
    this.#wants.set(id, remembered?.number ?? 0n);
  }

  /** Reads the description of an announced entity; returns the entity, which is present from now on. */
  describe(alias, reader) {
    if (alias === OWN_ALIAS || this.#byAlias.has(alias)) throw new Violation(`alias ${alias} is described twice`);
    if (!this.#announced.has(alias)) throw new Violation(`alias ${alias} is described, but was not announced`);
    const { id, type, remembered, turn } = this.#announced.get(alias);
    const number = reader.u64("describe");
    if (number > NUMBER_MAX) throw new DecodeError("the number of a description is too high");
    const place = readPlace(reader);
    const described = type.readSome(reader);
    for (const index of described.keys()) {
      const { name, otherClients } = type.properties[index];
      if (!otherClients) throw new Violation(`${type.name}.${name} is not for other clients`);
    }
    const entity = Object.assign(new Entity(id, type, false, this.#send), { alias, number, turn });
    entity.put(place.position, place.direction);
    Object.assign(entity.properties, remembered?.properties);
    for (const [index, value] of described) entity.properties[type.properties[index].name] = value;
    this.#announced.delete(alias);
    this.#byAlias.set(alias, entity);
    this.entities.set(id, entity);
    return entity;
  }

  /** Ends one alias; returns the present entities that are gone by this: one, or none if it was only announced. */
  leave(alias) {
    const isKnown = this.#byAlias.has(alias) || this.#announced.has(alias);
    if (!isKnown) throw new Violation(`alias ${alias} leaves, but no entity has this alias`);
    this.#turns.end();
    return this.#forget(alias);
  }

  /** Ends all aliases; returns the entities that were present. */
  forgetAll() {
    this.#turns.end();
    const aliases = [...[...this.entities.values()].map((entity) => entity.alias), ...this.#announced.keys()];
    return aliases.flatMap((alias) => this.#forget(alias));
  }

  /** The body is lost. The witness of the next body gives aliases and descriptions without regard to earlier ones. */
  beginAnew() {
    this.#blocked.clear();
    this.#remembered.clear();
  }

  /** The reliable messages RELEASED and WANT that answer the server's messages since the last call. */
  answers() {
    const [wants, released] = [[...this.#wants], this.#released];
    this.#wants = new Map();
    this.#released = [];
    this.#blocked.clear();
    const messages = [];
    for (let at = 0; at < released.length; at += RELEASED_PER_MESSAGE) {
      const writer = new Writer().u8(TO_SERVER.RELEASED);
      for (const alias of released.slice(at, at + RELEASED_PER_MESSAGE)) writer.u16(alias);
      messages.push(writer.done());
    }
    for (let at = 0; at < wants.length; at += WANTS_PER_MESSAGE) {
      const writer = new Writer().u8(TO_SERVER.WANT);
      for (const [id, number] of wants.slice(at, at + WANTS_PER_MESSAGE)) writer.i32(id).u64(number);
      messages.push(writer.done());
    }
    return messages;
  }

  #forget(alias) {
    this.#released.push(alias);
    this.#blocked.add(alias);
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
    const { number, properties } = entity;
    this.#remember(entity.id, { type: this.#schema.typeOf(entity), number, properties });
    return [entity];
  }

  /** The oldest memory is dropped when there are too many. */
  #remember(id, remembered) {
    this.#remembered.set(id, remembered);
    if (this.#remembered.size > REMEMBERED_MAX) this.#remembered.delete(this.#remembered.keys().next().value);
  }
}
