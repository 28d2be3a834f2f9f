// The schema: entity types with their properties and methods, made from the JSON of `schema/export.py`.

import { DecodeError, UsageError, Writer, fromHex } from "./bytes.js";
import { makeCodec } from "./codec.js";

/** The first message number of a client method, and of a client property; 255 is none. */
export const METHODS_FROM = 59;
export const PROPERTIES_FROM = 158;

class Method {
  constructor(exported) {
    Object.assign(this, { name: exported.name, messageId: exported.message_id, subId: exported.sub_id });
    this.reliable = exported.reliable;
    this.allClients = exported.all_clients;
    this.args = exported.args.map((each) => makeCodec(each.type));
  }

  encodeCall(entityId, args) {
    if (args.length !== this.args.length) {
      throw new UsageError(`${this.name} takes ${this.args.length} arguments, got ${args.length}`);
    }
    const writer = new Writer().u8(this.messageId).i32(entityId);
    if (this.subId !== null) writer.u8(this.subId);
    this.args.forEach((codec, at) => codec.write(writer, args[at]));
    return writer.done();
  }

  decodeArgs(reader) {
    const args = this.args.map((codec) => codec.read(reader));
    reader.end(`the arguments of ${this.name}`);
    return args;
  }
}

/** Splits "health.heal" into the name and its component; the component is null for a name of the entity itself. */
export function splitName(name) {
  const at = name.indexOf(".");
  return at < 0 ? [name, null] : [name.slice(at + 1), name.slice(0, at)];
}

class EntityType {
  constructor(exported, isForOwn = true) {
    const differs = (each) => each.other_type !== undefined;
    this.name = exported.name;
    this.id = exported.type_id;
    this.properties = exported.properties.map((each) => ({
      name: each.name,
      codec: makeCodec(isForOwn || !differs(each) ? each.type : each.other_type),
      isBase: each.base,
      ownClient: each.own_client,
      otherClients: each.other_clients,
      default: fromHex(isForOwn || !differs(each) ? each.default : each.other_default),
    }));
    /** The same type for entities that are not the player's own; more of their fields may be hidden. */
    this.forOthers = isForOwn && exported.properties.some(differs) ? new EntityType(exported, false) : this;
    this.basePlayer = exported.base_player;
    this.cellPlayer = exported.cell_player;
    this.clientMethods = exported.client_methods.map((each) => new Method(each));
    this.cellMethods = exported.cell_methods.map((each) => new Method(each));
    this.baseMethods = exported.base_methods.map((each) => new Method(each));
  }

  /** An object with the default values of all properties by name, in the order of their indexes. */
  newProperties() {
    const properties = Object.create(null);
    for (const { name, codec, default: data } of this.properties) properties[name] = codec.decode(data);
    return properties;
  }

  /** Reads the values of these properties until the end of the data: pairs of index and value. */
  readRow(reader, indexes) {
    const values = indexes.map((index) => [index, this.properties[index].codec.read(reader)]);
    reader.end("the last property");
    return values;
  }

  /** Reads a count, then the index and the value of so many properties, until the end of the data. */
  readSome(reader) {
    const values = new Map();
    for (let left = reader.u8("a number of properties"); left > 0; left -= 1) {
      const index = reader.u8("the index of a property");
      if (index >= this.properties.length || values.has(index)) {
        throw new DecodeError(`${this.name} has no property ${index}, or the message has it twice`);
      }
      values.set(index, this.properties[index].codec.read(reader));
    }
    reader.end("the last property");
    return values;
  }
}

/** All entity types of a game, from the JSON of export_schema. */
export class Schema {
  constructor(exported) {
    if (exported.format !== 1) {
      throw new UsageError(`the schema has format ${exported.format}: use the terrazzo.js that belongs to it`);
    }
    this.digest = exported.digest;
    this.types = exported.entities.map((each) => new EntityType(each));
    this.byId = new Map(this.types.map((type) => [type.id, type]));
    this.byName = new Map(this.types.map((type) => [type.name, type]));
    // A message id has a sub id in all types or in none; the type with the most methods decides.
    const methods = this.types.flatMap((type) => type.clientMethods);
    this.idsWithSub = new Set(methods.filter((each) => each.subId !== null).map((each) => each.messageId));
  }

  /** The type of an entity, as this client sees it. */
  typeOf(entity) {
    const type = this.byName.get(entity.type);
    return entity.isPlayer ? type : type.forOthers;
  }
}
