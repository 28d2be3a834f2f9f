// An entity in a client's view, and the rides of entities on other entities.

import { OWN_ALIAS } from "./messages.js";
import { splitName } from "./schema.js";

/** An entity as this client sees it: the player's own entity or a neighbour. */
export class Entity {
  position = [0, 0, 0];
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
}

/**
 * The riders of each vehicle; `sync/riding.py` has the picture. Each method returns the entities that it moved.
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

  /** Puts an entity at the place that the server sent, unless its place comes from a present vehicle. */
  put(entity, position, direction) {
    if (entity.ride && this.#find(entity.ride.vehicle)) return [];
    return [Object.assign(entity, { position, direction }), ...this.carry(entity)];
  }

  /** Moves the riders of an entity that has moved or has become present. */
  carry(vehicle) {
    const riders = [...(this.#riders.get(vehicle.id)?.values() ?? [])];
    return riders.map((rider) => Object.assign(rider, placeOn(vehicle, rider.ride)));
  }

  /** The entity rides on `ride.vehicle` from now on; with the vehicle 0 it stops riding. */
  ride(entity, ride) {
    this.leave(entity);
    if (!ride.vehicle) return this.put(entity, ride.position, ride.direction);
    entity.ride = ride;
    if (!this.#riders.has(ride.vehicle)) this.#riders.set(ride.vehicle, new Map());
    this.#riders.get(ride.vehicle).set(entity.id, entity);
    const vehicle = this.#find(ride.vehicle);
    return vehicle ? [Object.assign(entity, placeOn(vehicle, ride)), ...this.carry(entity)] : [];
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

/** The place in the world of a place relative to a vehicle. */
function placeOn(vehicle, { position: [x, y, z], direction: [yaw, pitch, roll] }) {
  const [sinYaw, cosYaw] = [Math.sin(vehicle.yaw), Math.cos(vehicle.yaw)];
  const [fromX, fromY, fromZ] = vehicle.position;
  const turned = vehicle.yaw + yaw;
  return {
    position: [fromX + x * cosYaw + z * sinYaw, fromY + y, fromZ - x * sinYaw + z * cosYaw],
    direction: [turned - 2 * Math.PI * Math.floor(turned / (2 * Math.PI) + 0.5), pitch, roll],
  };
}
