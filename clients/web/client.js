// The client: one player's connection to the world.

import { UsageError, Writer, fromHex, utf8 } from "./bytes.js";
import { Channel } from "./channel.js";
import { webAgreement } from "./handshake.js";
import { ANSWER_MS, LoginError, WHY_OVER, askLogin, explained, readReply, replaceHost } from "./login.js";
import { STOPPING, TO_SERVER } from "./messages.js";
import { confined, partEvents } from "./parts.js";
import { Schema } from "./schema.js";
import { View } from "./view.js";

const TICK_MS = 100;
const MOVE_REPEAT_MS = 1000;
const LEAVE_MS = 10000; // how long a client that leaves waits for the server's last word

const HANDLERS = [
  "onPlayer", "onEnter", "onLeave", "onSpace", "onMoved", "onChange", "onCall", "onViolation", "onLoggedOff",
  "onClosed",
];

/** One player's connection to the world; see the top of this file. It logs in once: make a new one for another time. */
export class Client {
  #events = {};
  #view = null;
  #channel = null;
  #mayReturn = true; // whether the player was neither sent away nor left
  #farewell = null; // what the page is told when the connection ends: set by leave() and by the server's last word
  #answering = false;
  #moveWaits = false;
  #moveSentAt = 0;
  #ticking = null;
  #now;
  #onPlayer = () => {}; // ends the wait of login()
  #leaveBy = null; // the timer of leave(), once the server was told
  #resolveLeft; // ends the wait of leave()
  #left = new Promise((resolve) => {
    this.#resolveLeft = resolve;
  });

  constructor({ parts = {}, ...handlers } = {}) {
    const unknown = Object.keys(handlers).filter((name) => !HANDLERS.includes(name));
    if (unknown.length) throw new UsageError(`a client has no ${unknown.join(", ")}; it has ${HANDLERS.join(", ")}`);
    const events = {};
    for (const name of HANDLERS) events[name] = (...args) => confined(name, () => handlers[name]?.(...args));
    this.#events = { ...events, ...partEvents(parts, events) };
  }

  get player() {
    return this.#view?.player ?? null;
  }

  /** The others in the area, by id. */
  get entities() {
    return this.#view?.entities ?? new Map();
  }

  get space() {
    return this.#view?.space ?? null;
  }

  get violations() {
    return this.#view?.violations ?? 0;
  }

  get roundTripMs() {
    return this.#channel?.roundTripMs ?? null;
  }

  /** Whether the player has a body that can move and call. */
  get hasBody() {
    return this.space !== null && this.#channel?.state === "OPEN";
  }

  /**
   * Logs in and joins the world; gives the player's entity when it is there (its body follows with onEnter).
   *
   * `gameUrl(reply)` makes the address of the game server from what the login server said, {host, ws_port}; by default
   * it is the login server's address with these two replaced. `agreement` replaces WebCrypto's X25519 where that is
   * missing.
   */
  async login({ url, serverKey, name, password, schema, gameUrl, ...options }) {
    if (this.#view) throw new UsageError("this client has logged in before: make a new one");
    const known = schema instanceof Schema ? schema : new Schema(schema);
    const key = typeof serverKey === "string" ? fromHex(serverKey) : serverKey;
    const outside = { WebSocket: globalThis.WebSocket, agreement: webAgreement, random: randomBytes, now: pageTime };
    const how = { ...outside, ...options };
    this.#now = how.now;
    this.#view = new View(known, this.#viewEvents(), (...call) => this.#call(...call));
    const request = utf8.encoder.encode(JSON.stringify({ name, password, digest: known.digest }));
    const reply = readReply(await askLogin(url, key, request, how), url);
    const address = (gameUrl ?? ((said) => replaceHost(url, said)))(reply);
    return this.#join(address, key, fromHex(reply.key), how);
  }

  /**
   * The player goes here; the server hears of the latest place once per tick. False without a body, and while it rides
   * on another entity: then it goes where that goes.
   */
  move(x, z, yaw = 0, y = this.player?.position[1] ?? 0, { pitch = 0, roll = 0 } = {}) {
    const isPlace = [x, y, z, yaw, pitch, roll].every((each) => Number.isFinite(Math.fround(each)));
    if (!isPlace) throw new UsageError("expected a place in finite numbers");
    if (!this.hasBody || this.player.ride) return false;
    this.#view.moveOwn([x, y, z], [yaw, pitch, roll]);
    this.#moveWaits = true;
    return true;
  }

  /**
   * Leaves the world; resolves when the server has confirmed with its last word that everything is saved, or the
   * connection is gone. Without that word `onClosed` is told that nothing is confirmed.
   */
  async leave() {
    if (this.#channel?.state === "CLOSED") return;
    this.#farewell ??= "";
    this.#mayReturn = false;
    if (!this.#channel) return; // still logging in: the server is told as soon as there is a session
    if (!this.#leaveBy && this.#channel.send(Uint8Array.of(TO_SERVER.BYE))) {
      this.#farewell ||= "The game server did not confirm that everything is saved: log in again, and check.";
      this.#leaveBy = setTimeout(() => this.#channel.close(), LEAVE_MS);
    }
    await this.#left;
  }

  #join(url, serverKey, loginKey, how) {
    return new Promise((resolve, reject) => {
      const fail = (sentence) => reject(new LoginError(sentence));
      const timer = setTimeout(() => {
        fail(`The game server at ${url} was reached but took too long to answer: try again later.`);
        this.#channel?.abort();
      }, ANSWER_MS);
      this.#onPlayer = (player) => {
        clearTimeout(timer);
        resolve(player);
      };
      const onClosed = (reason) => {
        clearTimeout(timer);
        const why = WHY_OVER[reason] ?? "ended the session: log in again";
        const sentence = this.#farewell ?? `The game server at ${url} ${why}.`;
        fail(sentence || "The player left before the world was there."); // does nothing once the player is there
        this.#stop(sentence, this.#mayReturn && reason !== "PROTOCOL");
      };
      const onMessage = (message) => {
        this.#view.apply(message);
        this.#answerSoon();
      };
      Channel.connect(url, serverKey, loginKey, { ...how, onMessage, onClosed }).then(
        (channel) => {
          this.#channel = channel;
          if (this.#farewell !== null) this.leave();
        },
        (error) => {
          clearTimeout(timer);
          reject(explained(error, "game", url));
        },
      );
    });
  }

  #viewEvents() {
    return {
      ...this.#events,
      onPlayer: (player) => {
        this.#channel.send(Uint8Array.of(TO_SERVER.READY));
        this.#ticking = setInterval(() => this.#tick(), TICK_MS);
        this.#onPlayer(player);
        this.#events.onPlayer(player);
      },
      onLoggedOff: (text, reason) => {
        if (this.#leaveBy) this.#farewell = "";
        else this.#farewell ??= text || "The game server logged this player off.";
        this.#mayReturn &&= reason === STOPPING;
        this.#events.onLoggedOff(text);
        this.#channel.close();
      },
    };
  }

  /** What the view has to answer, once for all messages of a packet. */
  #answerSoon() {
    if (this.#answering) return;
    this.#answering = true;
    queueMicrotask(() => {
      this.#answering = false;
      const answers = this.#view.answers();
      if (this.#channel?.state === "OPEN") for (const each of answers) this.#channel.send(each);
    });
  }

  #call(message, reliable, needsBody) {
    if (this.#channel?.state !== "OPEN" || (needsBody && !this.hasBody)) return false;
    return this.#channel.send(message, { reliable });
  }

  /** Moves are unreliable, so the latest one is repeated. A place that the server gave replaces one not sent yet. */
  #tick() {
    if (!this.hasBody || !(this.#moveWaits || this.#now() >= this.#moveSentAt + MOVE_REPEAT_MS)) return;
    this.#moveWaits = false;
    this.#moveSentAt = this.#now();
    const writer = new Writer().u8(TO_SERVER.MOVE);
    for (const each of [...this.player.position, ...this.player.direction]) writer.f32(each);
    this.#channel.send(writer.done(), { reliable: false });
  }

  #stop(sentence, mayReturn) {
    clearInterval(this.#ticking);
    clearTimeout(this.#leaveBy);
    this.#resolveLeft();
    this.#events.onClosed(sentence, mayReturn);
  }
}

/**
 * Calls `attempt` until it succeeds, and gives what it gave. Before each try there is a pause: it doubles from `firstMs`
 * to `mostMs`, and differs by chance from page to page, so that the players of a world that has restarted do not come
 * back all in the same moment. `onWait(ms, tries, error)` is called before each pause, with what the try before it threw
 * (null at first). It ends with null as soon as `isWanted()` is false, and with an error that has `isFinal`.
 */
export async function comeBack(attempt, options = {}) {
  const { onWait = () => {}, isWanted = () => true, firstMs = 500, mostMs = 15000 } = options;
  const { random = Math.random, sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } = options;
  for (let tries = 1, error = null; ; tries += 1) {
    const ms = Math.min(firstMs * 2 ** (tries - 1), mostMs) * (0.5 + random() / 2);
    onWait(ms, tries, error);
    await sleep(ms);
    if (!isWanted()) return null;
    try {
      return await attempt();
    } catch (problem) {
      if (problem.isFinal) throw problem;
      error = problem;
    }
  }
}

function pageTime() {
  return performance.now();
}

function randomBytes(size) {
  return globalThis.crypto.getRandomValues(new Uint8Array(size));
}
