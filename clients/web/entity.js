// An entity in a client's view, and the rides of entities on other entities.

import { OWN_ALIAS } from "./messages.js";
import { splitName } from "./schema.js";

/** An entity as this client sees it: the player's own entity or a neighbour. */
export class Entity {
  position = [0, 0, 0]; // this array and the next are the same ones for the whole life of the entity
  direction = [0, 0, 0]; // yaw, pitch, roll
  alias = OWN_ALIAS;
  number = 0n; // of its description
  turn = 0; // the turn in which the alias became the entity's, last stopped riding, or was renewed
  ride = null; // {vehicle, position, direction}: the id of the entity below it, and the place relative to that entity
  part = null; // the page's own object for the entity, if the page has a class for its type

  /** `send(message, reliable, needsBody)` returns false when the message cannot be sent. */
  constructor(id, type, isPlayer, send) {
    this.id = id;
    this.type = type.name;
    this.isPlayer = isPlayer;
    this.properties = type.newProperties();
    /** The exposed methods that this client may call: entity.cell.say("hi"). Each returns whether the call was sent. */
    this.cell = {};
    this.base = {};
    const add = (side, method, needsBody) => {
      const [name, component] = splitName(method.name);
      const owner = component === null ? side : (side[component] ??= {});
      owner[name] = (...args) => send(method.encodeCall(id, args), method.reliable, needsBody);
    };
    for (const method of type.cellMethods) if (isPlayer || method.allClients) add(this.cell, method, true);
    for (const method of type.baseMethods) if (isPlayer) add(this.base, method, false);
  }

  get yaw() {
    return this.direction[0];
  }

  put([x, y, z], [yaw, pitch, roll]) {
    const { position, direction } = this;
    position[0] = x;
    position[1] = y;
    position[2] = z;
    direction[0] = yaw;
    direction[1] = pitch;
    direction[2] = roll;
  }
}

/** The entities that one message has moved, in their order, once for each move. The list is used again. */
export class Moves {
  count = 0;
  #entities = [];

  clear() {
    this.count = 0;
  }

  add(entity) {
    this.#entities[this.count] = entity;
    this.count += 1;
  }

  forEach(visit) {
    for (let at = 0; at < this.count; at += 1) visit(this.#entities[at]);
  }
}

/**
 * The riders of each vehicle; `sync/riding.py` has the picture. Each method adds the entities that it moves to `moves`.
 *
 * While the vehicle of a rider is present, this client computes the place of the rider from the place of the vehicle.
 * While the vehicle is not present, the rider is at the place that the server sent.
 */
export class Rides {
  #riders = new Map(); // by the id of the vehicle: its riders by id; the vehicle need not be present
  #find;

  /** `find(id)` returns the present entity with this id, or undefined. */
  constructor(find) {
    this.#find = find;
  }

  /** Whether the place of an entity comes from a present vehicle, and not from the server. */
  isCarried(entity) {
    return entity.ride !== null && Boolean(this.#find(entity.ride.vehicle));
  }

  /** Puts an entity at the place that the server sent, unless its place comes from a present vehicle. */
  put(entity, position, direction, moves) {
    if (this.isCarried(entity)) return;
    entity.put(position, direction);
    moves.add(entity);
    this.carry(entity, moves);
  }

  /** Moves the riders of an entity that has moved or has become present. */
  carry(vehicle, moves) {
    const riders = this.#riders.get(vehicle.id);
    if (riders === undefined) return;
    for (const rider of riders.values()) {
      putOn(vehicle, rider);
      moves.add(rider);
    }
  }

  /** The entity rides on `ride.vehicle` from now on; with the vehicle 0 it stops riding. */
  ride(entity, ride, moves) {
    this.leave(entity);
    if (!ride.vehicle) {
      this.put(entity, ride.position, ride.direction, moves);
      return;
    }
    entity.ride = ride;
    if (!this.#riders.has(ride.vehicle)) this.#riders.set(ride.vehicle, new Map());
    this.#riders.get(ride.vehicle).set(entity.id, entity);
    const vehicle = this.#find(ride.vehicle);
    if (!vehicle) return;
    putOn(vehicle, entity);
    moves.add(entity);
    this.carry(entity, moves);
  }

  /** The entity stops riding, and stays where it is. */
  leave(entity) {
    if (!entity.ride) return;
    const riders = this.#riders.get(entity.ride.vehicle);
    riders.delete(entity.id);
    if (!riders.size) this.#riders.delete(entity.ride.vehicle);
    entity.ride = null;
  }
}

/** Puts a rider where its place relative to the vehicle is in the world. */
function putOn(vehicle, rider) {
  const { position: [x, y, z], direction: [yaw, pitch, roll] } = rider.ride;
  const [sinYaw, cosYaw] = [Math.sin(vehicle.yaw), Math.cos(vehicle.yaw)];
  const [fromX, fromY, fromZ] = vehicle.position;
  const turned = vehicle.yaw + yaw;
  rider.put(
    [fromX + x * cosYaw + z * sinYaw, fromY + y, fromZ - x * sinYaw + z * cosYaw],
    [turned - 2 * Math.PI * Math.floor(turned / (2 * Math.PI) + 0.5), pitch, roll],
  );
}
