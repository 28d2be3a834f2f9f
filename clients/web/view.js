// The view: what one client sees of the world, from the messages of its BaseApp.
//
//     nothing ──BASE_PLAYER──► player without a body ──CELL_PLAYER──► player with a body: neighbours come and go
//                                     ▲                                    │
//                                     └─────────── CELL_LOST ──────────────┘             LOGGED_OFF: the end
//
//     beginAnew(): nothing again, for a client that has resumed
//
// The rules are those of `sync/view.py`. A message that the messages before it do not allow is a violation: it changes
// nothing, is counted, and goes to onViolation. PLACES and LOOSE are unreliable and may arrive too early or too late;
// the view counts those in `late` and skips them.

import { DecodeError, Reader } from "./bytes.js";
import { applyChange, readChange } from "./changes.js";
import { Entity, Moves, Rides } from "./entity.js";
import { NoBodyViolation, OWN_ALIAS, Places, TO_CLIENT, Violation, readAlias, readPlace } from "./messages.js";
import { Neighbours, Turns } from "./neighbours.js";
import { PlainCodec } from "./plaindata.js";
import { METHODS_FROM, PROPERTIES_FROM } from "./schema.js";

const PLAIN = new PlainCodec();

/**
 * The world as one client sees it. `events` has the on… functions of the Client; the entities call `send`. If onMoved or
 * onChange is null, the page does not ask for these events, and the view makes none.
 */
export class View {
  player = null;
  space = null; // the number of the space of the player's body; null: the player has no body
  spaceData = {}; // the data of that space, by key
  isOver = false;
  violations = 0;
  late = 0; // places and loose messages that were skipped
  #turns = new Turns();
  #rides = new Rides((id) => this.find(id));
  #places = new Places();
  #moves = new Moves(); // of the present message
  #notifyMoved = null; // calls onMoved for each of them; null if the page does not ask for it
  #neighbours;
  #schema;
  #events;
  #send;

  constructor(schema, events, send) {
    this.#schema = schema;
    this.#events = events;
    this.#send = send;
    this.#neighbours = new Neighbours(schema, this.#turns, send);
    if (events.onMoved) this.#notifyMoved = () => this.#moves.forEach(events.onMoved);
  }

  /** The present entities except the player's own, by id. */
  get entities() {
    return this.#neighbours.entities;
  }

  /** Processes one message. The content of a message never makes this method throw. */
  apply(message) {
    let notify;
    this.#moves.clear();
    try {
      if (this.isOver && (message[0] === TO_CLIENT.PLACES || message[0] === TO_CLIENT.LOOSE)) {
        this.late += 1;
        return;
      }
      if (this.isOver) throw new Violation("a message after LOGGED_OFF");
      const reader = new Reader(message);
      notify = this.#read(reader.u8("a message"), reader);
    } catch (problem) {
      if (!(problem instanceof Violation || problem instanceof DecodeError)) throw problem;
      this.violations += 1;
      notify = () => this.#events.onViolation(`message ${message[0]}: ${problem.message}`);
    }
    notify?.(); // runs the page's code; its errors are not errors of the message
  }

  /** The client has another session, which tells everything from the beginning. */
  beginAnew() {
    const gone = this.space === null ? [] : [...this.#forgetNeighbours(), this.player];
    this.player = null;
    this.#enterSpace(null);
    this.isOver = false;
    this.#turns = new Turns();
    this.#rides = new Rides((id) => this.find(id));
    this.#neighbours = new Neighbours(this.#schema, this.#turns, this.#send);
    gone.forEach((entity) => this.#events.onLeave(entity));
  }

  find(id) {
    return this.player?.id === id ? this.player : this.entities.get(id);
  }

  /** The reliable messages that answer the server's messages since the last call. */
  answers() {
    return this.#neighbours.answers();
  }

  /** The page moves the player; the riders of the player move with it. */
  moveOwn(position, direction) {
    const moves = new Moves(); // not those of the message whose handlers run now, perhaps
    this.player.put(position, direction);
    this.#rides.carry(this.player, moves);
    if (this.#events.onMoved) moves.forEach(this.#events.onMoved);
  }

  /**
   * Reads one message: reads and checks all of it, then changes the view. Returns the function that calls the page's
   * handlers, or null if there is none to call.
   */
  #read(number, reader) {
    switch (number) {
      case TO_CLIENT.BASE_PLAYER: return this.#onBasePlayer(reader);
      case TO_CLIENT.CELL_PLAYER: return this.#onCellPlayer(reader);
      case TO_CLIENT.CELL_LOST: return this.#onCellLost(reader);
      case TO_CLIENT.SPACE: return this.#onSpace(reader);
      case TO_CLIENT.SPACE_DATA: return this.#onSpaceData(reader);
      case TO_CLIENT.ANNOUNCE: return this.#onAnnounce(reader);
      case TO_CLIENT.DESCRIBE: return this.#onDescribe(reader);
      case TO_CLIENT.LEAVE: return this.#onLeave(reader);
      case TO_CLIENT.MOVED: return this.#onMoved(reader);
      case TO_CLIENT.PLACES: return this.#onPlaces(reader);
      case TO_CLIENT.PLACE: return this.#onPlace(reader);
      case TO_CLIENT.RIDES: return this.#onRides(reader);
      case TO_CLIENT.LOOSE: return this.#onLoose(reader);
      case TO_CLIENT.RENEW: return this.#onRenew(reader);
      case TO_CLIENT.LOGGED_OFF: return this.#onLoggedOff(reader);
      case TO_CLIENT.NESTED: return this.#onChange(reader, false);
      case TO_CLIENT.SLICE: return this.#onChange(reader, true);
      default:
        if (number >= METHODS_FROM && number < PROPERTIES_FROM) return this.#onCall(number, reader);
        if (number >= PROPERTIES_FROM && number < 255) return this.#onProperty(number - PROPERTIES_FROM, reader);
        throw new Violation(`no message has the number ${number}`);
    }
  }

  // The player.

  #onBasePlayer(reader) {
    const id = reader.i32("base player");
    if (this.player) throw new Violation("a second base player");
    const type = this.#readType(reader);
    const row = type.readRow(reader, type.basePlayer);
    this.player = new Entity(id, type, true, this.#send);
    for (const [index, value] of row) this.player.properties[type.properties[index].name] = value;
    return () => this.#events.onPlayer(this.player);
  }

  #onCellPlayer(reader) {
    const player = this.#requirePlayer();
    if (this.space !== null) throw new Violation("a cell player for a player that has a body");
    const type = this.#schema.typeOf(player);
    const space = reader.u32("cell player");
    const place = readPlace(reader);
    const row = type.readRow(reader, type.cellPlayer);
    for (const [index, value] of row) player.properties[type.properties[index].name] = value;
    player.put(place.position, place.direction);
    player.turn = this.#turns.begin();
    this.#enterSpace(space);
    return () => this.#events.onEnter(player);
  }

  #onCellLost(reader) {
    const player = this.#requireBody();
    reader.end("cell lost");
    this.#enterSpace(null);
    const gone = [...this.#forgetNeighbours(), player];
    this.#rides.leave(player);
    this.#neighbours.beginAnew();
    return () => gone.forEach((entity) => this.#events.onLeave(entity));
  }

  #onSpace(reader) {
    const player = this.#requireBody();
    const space = reader.u32("space");
    const place = readPlace(reader);
    reader.end("space");
    player.put(place.position, place.direction);
    this.#enterSpace(space);
    const gone = this.#forgetNeighbours();
    return () => {
      gone.forEach((entity) => this.#events.onLeave(entity));
      this.#events.onSpace(player);
    };
  }

  #enterSpace(space) {
    this.space = space;
    this.spaceData = Object.create(null); // any text is a key, "__proto__" too
  }

  #onSpaceData(reader) {
    const player = this.#requireBody();
    const changed = PLAIN.read(reader);
    reader.end("space data");
    if (!(changed instanceof Map) || ![...changed.keys()].every((key) => typeof key === "string")) {
      throw new DecodeError("the data of a space is a dict with texts as keys");
    }
    for (const [key, value] of changed) this.spaceData[key] = value;
    return () => this.#events.onSpaceData(player, changed);
  }

  #onMoved(reader) {
    const player = this.#requireBody();
    const place = readPlace(reader);
    reader.end("moved");
    this.#rides.put(player, place.position, place.direction, this.#moves);
    return this.#notifyMoved;
  }

  #onLoggedOff(reader) {
    const reason = reader.u8("logged off");
    const text = new TextDecoder().decode(reader.bytes(reader.left, "logged off"));
    this.isOver = true;
    return () => this.#events.onLoggedOff(text, reason);
  }

  // The neighbours.

  #onAnnounce(reader) {
    const id = reader.i32("announce");
    const alias = readAlias(reader);
    const type = this.#readType(reader).forOthers;
    reader.end("announce");
    if (this.#requireBody().id === id) throw new Violation("the player's own entity is announced");
    this.#neighbours.announce(id, alias, type);
    return null;
  }

  #onDescribe(reader) {
    const alias = readAlias(reader);
    this.#requireBody();
    const entity = this.#neighbours.describe(alias, reader);
    this.#rides.carry(entity, this.#moves);
    return () => {
      this.#events.onEnter(entity);
      this.#notifyMoved?.();
    };
  }

  #onLeave(reader) {
    const alias = readAlias(reader);
    this.#requireBody();
    reader.end("leave");
    const gone = this.#neighbours.leave(alias);
    gone.forEach((entity) => this.#rides.leave(entity));
    return () => gone.forEach((entity) => this.#events.onLeave(entity));
  }

  #forgetNeighbours() {
    const gone = this.#neighbours.forgetAll();
    gone.forEach((entity) => this.#rides.leave(entity));
    return gone;
  }

  /** Unreliable: the view skips the place of an alias that no entity has, or that another entity had at the sending. */
  #onPlaces(reader) {
    const places = this.#places;
    places.read(reader);
    for (let at = 0; at < places.count; at += 1) {
      const entity = this.#neighbours.byAlias(places.aliases[at]);
      if (!entity || !this.#turns.covers(places.turn, entity.turn)) this.late += 1;
      else if (!this.#rides.isCarried(entity)) this.#putAt(entity, places, at);
    }
    return this.#notifyMoved;
  }

  /** Angles that the message does not tell stay as they are. */
  #putAt(entity, { positions, angles, angleCounts }, at) {
    const { position, direction } = entity;
    for (let axis = 0; axis < 3; axis += 1) position[axis] = positions[3 * at + axis];
    for (let each = 0; each < angleCounts[at]; each += 1) direction[each] = angles[3 * at + each];
    if (this.#notifyMoved) this.#moves.add(entity);
    this.#rides.carry(entity, this.#moves);
  }

  #onPlace(reader) {
    const alias = readAlias(reader);
    const entity = this.#neighbours.byAlias(alias);
    if (!entity) throw new Violation(`alias ${alias} gets a place, but no present entity has this alias`);
    const place = readPlace(reader);
    reader.end("place");
    this.#rides.put(entity, place.position, place.direction, this.#moves);
    return this.#notifyMoved;
  }

  #onRides(reader) {
    const entity = this.#readEntity(reader);
    const vehicle = reader.i32("the vehicle of a ride");
    const place = readPlace(reader);
    reader.end("rides");
    if (entity.isPlayer) this.#requireBody();
    if (vehicle === entity.id) throw new Violation(`entity ${vehicle} rides on itself`);
    if (!entity.isPlayer && !vehicle) entity.turn = this.#turns.beginAgain();
    this.#rides.ride(entity, { vehicle, ...place }, this.#moves);
    return this.#notifyMoved;
  }

  // Calls and changes, of the player and of neighbours.

  /** The loose messages about an entity that bear an earlier turn are void: a reliable value follows. */
  #onRenew(reader) {
    const entity = this.#readEntity(reader);
    const turn = reader.u8("the turn of a renew");
    reader.end("renew");
    entity.turn = this.#turns.renew(turn);
    return null;
  }

  /** Unreliable: reads a call or a change of a whole property, and skips one that comes too early or too late. */
  #onLoose(reader) {
    const turn = reader.u8("the turn of a loose message");
    const number = reader.u8("a loose message");
    const inner = new Reader(reader.data, reader.at);
    const alias = readAlias(reader);
    const isWholeProperty = number === TO_CLIENT.NESTED && !(reader.data[reader.at] >> 7);
    if (!isWholeProperty && (number < METHODS_FROM || number > 254)) {
      throw new DecodeError(`LOOSE contains a call or a whole property, not message ${number}`);
    }
    const entity = alias === OWN_ALIAS ? this.player : this.#neighbours.byAlias(alias);
    try {
      if (entity && this.#turns.covers(turn, entity.turn)) return this.#read(number, inner);
    } catch (problem) {
      if (!(problem instanceof NoBodyViolation)) throw problem;
    }
    this.late += 1;
    return null;
  }

  #onCall(number, reader) {
    const entity = this.#readEntity(reader);
    const subId = this.#schema.idsWithSub.has(number) ? reader.u8("a sub id") : null;
    const { clientMethods } = this.#schema.typeOf(entity);
    const method = clientMethods.find((each) => each.messageId === number && each.subId === subId);
    if (!method) throw new DecodeError(`${entity.type} has no client method ${number}, ${subId}`);
    const args = method.decodeArgs(reader);
    return () => this.#events.onCall(entity, method.name, args);
  }

  /** A change of a whole property in its short form, without a path. */
  #onProperty(index, reader) {
    const entity = this.#readEntity(reader);
    const type = this.#schema.typeOf(entity);
    if (index >= type.properties.length) throw new DecodeError(`${type.name} has no client property of index ${index}`);
    const property = type.properties[index];
    const value = property.codec.read(reader);
    reader.end("a property");
    this.#requireReceiver(entity, type, property);
    const old = entity.properties[property.name];
    entity.properties[property.name] = value;
    if (!this.#events.onChange) return null;
    return () => this.#events.onChange(entity, property.name, { kind: "whole", path: [], old });
  }

  #onChange(reader, isSlice) {
    const entity = this.#readEntity(reader);
    const type = this.#schema.typeOf(entity);
    const change = readChange(type, entity.properties, reader, isSlice);
    const property = type.properties[change.property];
    this.#requireReceiver(entity, type, property);
    applyChange(type, entity.properties, change);
    if (!this.#events.onChange) return null;
    const { kind, path, old, start, values } = change;
    const shown = kind === "slice" ? { kind, path, old, start, end: start + values.length } : { kind, path, old };
    return () => this.#events.onChange(entity, property.name, shown);
  }

  /** Whether this client may have a property of the entity. */
  #requireReceiver(entity, type, property) {
    const isForThisClient = entity.isPlayer ? property.ownClient : property.otherClients;
    if (!isForThisClient) throw new Violation(`${type.name}.${property.name} is not for this client`);
    if (entity.isPlayer && !property.isBase) this.#requireBody();
  }

  #requirePlayer() {
    if (!this.player) throw new Violation("a message before the base player");
    return this.player;
  }

  #requireBody() {
    const player = this.#requirePlayer();
    if (this.space === null) throw new NoBodyViolation("a message for a body, but the player has none");
    return player;
  }

  #readEntity(reader) {
    const alias = readAlias(reader);
    const entity = alias === OWN_ALIAS ? this.#requirePlayer() : this.#neighbours.byAlias(alias);
    if (!entity) throw new Violation(`alias ${alias} is changed or called, but no present entity has this alias`);
    return entity;
  }

  #readType(reader) {
    const id = reader.u16("an entity type");
    const type = this.#schema.byId.get(id);
    if (!type) throw new Violation(`no entity type for clients has the id ${id}`);
    return type;
  }
}
