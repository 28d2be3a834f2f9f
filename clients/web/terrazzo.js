// Terrazzo for browsers: logs a player in, keeps a view of the world around the player, calls methods on the server.
//
// A page imports this module. The other modules of the folder come with it by relative imports, so a copy of the folder
// is a complete client; there is no build step.
//
//     import { Client } from "./terrazzo.js";
//
//     const client = new Client({
//       onEnter: (entity) => draw(entity),                       // also for the player's own entity: entity.isPlayer
//       onLeave: (entity) => erase(entity),
//       onSpace: (entity) => wipe(),                             // the player is in another space; all others left
//       onSpaceData: (entity, changed) => {},                    // a Map: new data of the space; all is in client.spaceData
//       onMoved: (entity) => place(entity),                      // entity.position [x, y, z], entity.yaw, entity.ride
//       onChange: (entity, name, change) => redraw(entity),      // entity.properties[name]; change.path, change.old
//       onCall: (entity, name, args) => react(entity, name, args),
//       onState: (state, { tries, ms }) => showState(state),     // "connected", "reconnecting" or "gone"; see below
//       onClosed: (sentence, mayReturn) => show(sentence),       // "" when the player left by client.leave()
//       onQueue: ({ place, waiting }) => show(place),            // the world is full: the client waits, and this is its place
//       parts: { Avatar: AvatarPart },                           // classes by the names of entity types; see below
//     });
//     const player = await client.login({ url: "ws://host:port/play", serverKey, name, password, schema });
//     client.move(3, 4, 0.5);  player.cell.say("hi");  await client.leave();
//
// Login. `schema` is the JSON of terrazzo.schema.export.export_schema, `serverKey` the cluster's public key (hex or
// bytes). A failed login rejects with a LoginError: one sentence for the player, and a `code` (docs/login.md).
// A client with onQueue waits while the world has no room, and login() resolves when it is in; client.leave() gives the
// place up. Without onQueue the login of a full world fails.
//
// Places. The arrays entity.position and entity.direction are the same ones for the whole life of the entity, and have new
// numbers when it moves: a page that remembers a place copies them. A page that draws every frame reads them there and
// needs no onMoved. Without onMoved and parts the client makes no events of moves, which saves time in a crowd.
//
// Parts. A part is the page's own object for one entity. The client makes it with `new AvatarPart(entity)` and stores
// it as entity.part. Each method of the part runs just before the handler above for the same event. The client skips
// methods that the class does not have.
//
//     class AvatarPart {
//       constructor(entity) { this.entity = entity; }
//       onEnter() {}                       onPlayer, onLeave, onSpace, onSpaceData and onMoved likewise
//       set_health(old) {}                 a property has a new value
//       set_nested_bag(path, old) {}       one thing inside a value has changed; path: field names and list indexes
//       set_slice_bag(path, old) {}        elements of a list were replaced; path ends with [start, end] of the new
//       on_said(words) {}                  the server calls a client method; the name is the schema's
//     }
//
// If the class has no set_nested_bag or set_slice_bag, the client calls set_bag instead, with a copy of the whole
// former value. A change of the property hp of the component health calls set_health_hp. A call of the component's
// method on_hurt runs part.health.on_hurt, and onCall with the name "health.on_hurt"; entity.cell.health.heal(5) calls
// a method of the component on the server.
//
// A lost connection. The client resumes by itself, without a login, for as long as the game gives it (docs/players.md).
// Meanwhile `client.state` is "reconnecting", and onState has the number of the attempt and the milliseconds until then.
// The entities stay as they were, and nothing can be called or moved. When the client is connected again, all entities
// leave (onLeave) and the server tells everything anew: onPlayer with a new object for the player, onEnter, and so on.
// If the client does not get back, the state is "gone" and onClosed follows.
//
// Return. `mayReturn` is true when the connection was lost or the server is stopping. The player may then log in again
// as soon as the world is running. `comeBack` repeats the login, with pauses that grow:
//
//     onClosed: (sentence, mayReturn) => mayReturn && comeBack(logInWithANewClient, { onWait: showPause });
//
// The modules; each imports only modules before it, down the left column and then down the right one:
//
//     bytes.js        reading and writing bytes, errors       channel.js      a session over a WebSocket
//     scalars.js      codecs of numbers, text, bytes          messages.js     numbers, aliases and places in messages
//     plaindata.js    the codec of PYTHON values              entity.js       an entity; rides on other entities
//     codec.js        the codec of every type                 neighbours.js   the entities around the player
//     schema.js       entity types                            view.js         what the server's messages do
//     changes.js      changes of properties                   parts.js        the page's objects for entities
//     frames.js       frames of a packet, reliable stream     login.js        the request to the login server
//     handshake.js    the keys of a session                   reconnect.js    the pauses of a client that resumes
//     outbox.js       messages that are not sent yet          client.js       one player's connection
//
// Values of properties and arguments in JavaScript:
//
//     INT8 … UINT32, FLOAT      number
//     INT64, UINT64             number if it is a safe integer (|n| < 2^53), otherwise BigInt. The client sends both.
//                               Most values are small counts, and pages compute with numbers.
//     BOOL                      boolean
//     VECTOR2 … VECTOR4         array of numbers
//     UNICODE_STRING            string
//     STRING, BLOB, UDO_REF     Uint8Array
//     USER_TYPE                 Uint8Array, since the class of the value belongs to the game
//     ARRAY                     array;  TUPLE: frozen array
//     FIXED_DICT                object with the fields in order, or null. A field that is hidden from this client has
//                               its default value.
//     MAILBOX                   {id, component, typeId, ip, port}, or null
//     PYTHON                    null, boolean, number, BigInt, string, Uint8Array, array, frozen array (tuple), Map,
//                               Set, Opaque. The client sends a float that is a whole number back as an integer, since
//                               JavaScript has one type for both.

export { DecodeError, Reader, UsageError, Writer, fromHex, toHex } from "./bytes.js";
export { Opaque } from "./plaindata.js";
export { makeCodec } from "./codec.js";
export { Schema } from "./schema.js";
export { applyChange, indexBits, readChange } from "./changes.js";
export { ChannelError, REASONS, expand, parseBody } from "./frames.js";
export { webAgree, webAgreement } from "./handshake.js";
export { Channel } from "./channel.js";
export { Entity } from "./entity.js";
export { View } from "./view.js";
export { LoginError } from "./login.js";
export { partEvents } from "./parts.js";
export { Client, comeBack } from "./client.js";
