// An entity in a client's view, and the rides of entities on other entities.

import { OWN } from "./messages.js";
import { splitName } from "./schema.js";

/** An entity as this client knows it. */
export class Entity {
  position = [0, 0, 0];
  direction = [0, 0, 0]; // yaw, pitch, roll
  alias = OWN;
  number = 0n; // of its description
  turn = 0; // in which its alias became its own, or it rode no longer
  ride = null; // what it stands on: {vehicle, position, direction}, the place being relative to that entity
  part = null; // the page's own object for it, if its type has a class

  /** `send(message, reliable, needsBody)` gives false when it cannot be sent. */
  constructor(id, type, isPlayer, send) {
    this.id = id;
    this.type = type.name;
    this.isPlayer = isPlayer;
    this.properties = type.newProperties();
    /** The exposed methods that this client may call: entity.cell.say("hi"). Each gives true when it was sent. */
    this.cell = {};
    this.base = {};
    const add = (part, method, needsBody) => {
      const [name, component] = splitName(method.name);
      const owner = component === null ? part : (part[component] ??= {});
      owner[name] = (...args) => send(method.encodeCall(id, args), method.reliable, needsBody);
    };
    for (const method of type.cellMethods) if (isPlayer || method.allClients) add(this.cell, method, true);
    for (const method of type.baseMethods) if (isPlayer) add(this.base, method, false);
  }

  get yaw() {
    return this.direction[0];
  }
}

/** Who rides on whom; src/terrazzo/sync/riding.py draws it. Each act gives the entities whose place it changed. */
export class Rides {
  #riders = new Map(); // vehicle's id: its riders, by id; the vehicle need not be there
  #find;

  constructor(find) {
    this.#find = find;
  }

  /** The server says where an entity is. Of one whose vehicle is there this client knows better. */
  put(entity, position, direction) {
    if (entity.ride && this.#find(entity.ride.vehicle)) return [];
    return [Object.assign(entity, { position, direction }), ...this.carry(entity)];
  }

  /** An entity is somewhere else, or has entered: those who ride on it are there, too. */
  carry(vehicle) {
    const riders = [...(this.#riders.get(vehicle.id)?.values() ?? [])];
    return riders.map((rider) => Object.assign(rider, placeOn(vehicle, rider.ride)));
  }

  ride(entity, ride) {
    this.leave(entity);
    if (!ride.vehicle) return this.put(entity, ride.position, ride.direction);
    entity.ride = ride;
    if (!this.#riders.has(ride.vehicle)) this.#riders.set(ride.vehicle, new Map());
    this.#riders.get(ride.vehicle).set(entity.id, entity);
    const vehicle = this.#find(ride.vehicle);
    return vehicle ? [Object.assign(entity, placeOn(vehicle, ride)), ...this.carry(entity)] : [];
  }

  leave(entity) {
    if (!entity.ride) return;
    const riders = this.#riders.get(entity.ride.vehicle);
    riders.delete(entity.id);
    if (!riders.size) this.#riders.delete(entity.ride.vehicle);
    entity.ride = null;
  }
}

function placeOn(vehicle, { position: [x, y, z], direction: [yaw, pitch, roll] }) {
  const [east, north] = [Math.sin(vehicle.yaw), Math.cos(vehicle.yaw)];
  const [fromX, fromY, fromZ] = vehicle.position;
  const turned = vehicle.yaw + yaw;
  return {
    position: [fromX + x * north + z * east, fromY + y, fromZ - x * east + z * north],
    direction: [turned - 2 * Math.PI * Math.floor(turned / (2 * Math.PI) + 0.5), pitch, roll],
  };
}
