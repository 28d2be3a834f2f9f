// A client's view of the world: what the server's messages do to it.
//
// The rules are those of `sync/view.py` and `sync/neighbours.py`: a message that does not fit the messages before it
// changes nothing, is counted, and goes to onViolation.

import { DecodeError, Reader, Writer } from "./bytes.js";
import { applyChange, readChange } from "./changes.js";
import { Entity, Rides } from "./entity.js";
import { NUMBER_MAX, OWN, TO_CLIENT, TO_SERVER, readPlaces, takeAlias, takePlace } from "./messages.js";
import { METHODS_FROM, PROPERTIES_FROM } from "./schema.js";

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
