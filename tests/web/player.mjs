// A page without a browser: the web client in Node, its WebSockets carried over stdin and stdout.
//
//     u32 length of the rest | u8 kind | u8 socket | payload
//     kind 0  a command or an event, JSON        2  open (to Python: the address; from Python: it is open)
//     kind 1  a binary message of the socket     3  close

import { Channel, Client, LoginError, fromHex, toHex, webAgree } from "../../clients/web/terrazzo.js";

const KIND = { JSON: 0, DATA: 1, OPEN: 2, CLOSE: 3 };
const sockets = [];

function put(kind, socket, payload) {
  const head = Buffer.alloc(6);
  head.writeUInt32LE(payload.length + 2);
  head[4] = kind;
  head[5] = socket;
  process.stdout.write(Buffer.concat([head, payload]));
}

function tell(event) {
  const text = JSON.stringify(event, (_, each) => (typeof each === "bigint" ? `${each}n` : each));
  put(KIND.JSON, 0, Buffer.from(text));
}

class PipeSocket {
  readyState = 0;

  constructor(url) {
    this.number = sockets.push(this) - 1;
    put(KIND.OPEN, this.number, Buffer.from(url));
  }

  send(bytes) {
    put(KIND.DATA, this.number, Buffer.from(bytes));
  }

  close() {
    if (this.readyState < 2) put(KIND.CLOSE, this.number, Buffer.alloc(0));
    this.onClosed();
  }

  onClosed() {
    if (this.readyState === 3) return;
    this.readyState = 3;
    queueMicrotask(() => this.onclose?.({}));
  }
}

const told = ({ id, type, position, yaw, properties }) => ({ id, type, position, yaw, properties });

/** Writes down what it hears. */
class AvatarPart {
  heard = [];

  constructor(entity) {
    this.entity = entity;
    if (entity.properties.name === "throw") throw new Error("a part that cannot be made");
  }
}
const CALLBACKS = ["onPlayer", "onEnter", "onLeave", "set_health", "set_bag", "set_slice_bag", "on_said"];
for (const name of CALLBACKS) {
  AvatarPart.prototype[name] = function record(...args) {
    this.heard.push([name, ...args]);
    if (this.entity.properties.health < 0) throw new Error("the part's own mistake");
  };
}

const states = []; // of the client: [state, tries, ms]
const client = new Client({
  parts: { Avatar: AvatarPart },
  onPlayer: (entity) => tell({ event: "player", ...told(entity) }),
  onEnter: (entity) => {
    parts.set(entity.id, entity.part);
    tell({ event: "enter", ...told(entity) });
  },
  onLeave: (entity) => tell({ event: "leave", id: entity.id }),
  onSpace: (entity) => tell({ event: "space", space: client.space, ...told(entity) }),
  onSpaceData: (entity, changed) => tell({ event: "space data", id: entity.id, changed: [...changed], all: client.spaceData }),
  onMoved: (entity) => tell({ event: "moved", id: entity.id, position: entity.position, yaw: entity.yaw }),
  onChange: ({ id, properties }, name, change) => tell({ event: "change", id, name, value: properties[name], change }),
  onCall: (entity, name, args) => {
    tell({ event: "call", id: entity.id, name, args });
    if (args[0] === "throw") throw new Error("the page's own mistake");
  },
  onViolation: (text) => tell({ event: "violation", text }),
  onQueue: (place) => tell({ event: "queue", ...place }),
  onLoggedOff: (text) => tell({ event: "logged off", text }),
  onState: (state, { tries, ms }) => states.push([state, tries ?? 0, ms ?? 0]),
  onClosed: (sentence) => tell({ event: "closed", sentence }),
});
const parts = new Map(); // also of those that have left
const find = (id) => (client.player.id === id ? client.player : client.entities.get(id));

/** X25519 with a given private key, to repeat the golden sessions. */
function fixedAgreement(privateHex, publicHex) {
  const pkcs8 = fromHex(`302e020100300506032b656e04220420${privateHex}`);
  return {
    async generate() {
      const key = await crypto.subtle.importKey("pkcs8", pkcs8, { name: "X25519" }, false, ["deriveBits"]);
      return { publicKey: fromHex(publicHex), agree: (peer) => webAgree(key, peer) };
    },
  };
}

let golden = null;

const COMMANDS = {
  async login(options) {
    try {
      const player = await client.login({ ...options, WebSocket: PipeSocket });
      tell({ event: "logged in", id: player.id });
    } catch (error) {
      if (!(error instanceof LoginError)) throw error;
      tell({ event: "refused", sentence: error.message, code: error.code });
    }
  },
  async golden({ serverKey, appData, privateKey, publicKey, clientId }) {
    golden = await Channel.connect("ws://golden/", fromHex(serverKey), fromHex(appData), {
      WebSocket: PipeSocket,
      agreement: fixedAgreement(privateKey, publicKey),
      random: () => fromHex(clientId),
      now: () => performance.now(),
      onMessage: (message) => tell({ event: "message", hex: toHex(message) }),
      onClosed: () => {},
    });
  },
  send({ reliable, unreliable }) {
    for (const each of reliable) golden.send(fromHex(each));
    for (const each of unreliable) golden.send(fromHex(each), { reliable: false });
  },
  call: ({ id, side, method, args }) => tell({ event: "sent", sent: find(id)[side][method](...args) }),
  heard: ({ id }) => tell({ event: "heard", heard: parts.get(id)?.heard ?? null }),
  methods: ({ id }) => tell({ event: "methods", cell: Object.keys(find(id).cell), base: Object.keys(find(id).base) }),
  move: ({ x, z, yaw }) => tell({ event: "sent", sent: client.move(x, z, yaw) }),
  moves: ({ places }) => places.forEach(([x, z]) => client.move(x, z)),
  states: () => tell({ event: "states", states }),
  leave: () => client.leave().then(() => tell({ event: "left" })),
  quit: () => process.exit(0),
};

function onFrame(kind, number, payload) {
  const socket = sockets[number];
  if (kind === KIND.JSON) {
    const { command, ...options } = JSON.parse(payload.toString());
    COMMANDS[command](options);
  } else if (kind === KIND.DATA) {
    socket.onmessage({ data: Uint8Array.from(payload).buffer });
  } else if (kind === KIND.OPEN) {
    socket.readyState = 1;
    socket.onopen({});
  } else socket.onClosed();
}

let waiting = Buffer.alloc(0);
process.stdin.on("data", (bytes) => {
  waiting = Buffer.concat([waiting, bytes]);
  while (waiting.length >= 4 && waiting.length >= 4 + waiting.readUInt32LE()) {
    const end = 4 + waiting.readUInt32LE();
    onFrame(waiting[4], waiting[5], waiting.subarray(6, end));
    waiting = waiting.subarray(end);
  }
});
