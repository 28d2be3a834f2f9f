// The client: one player's connection to the world. `terrazzo.js` describes it for pages.
//
//     connecting ──login──► connected ──the connection is lost──► reconnecting ──► connected
//          │                    └── left, logged off ──► gone ◄── refused, too late ──┘
//          └── refused ──► gone
//
// A client that lost its connection resumes by itself, with the token of its session, as long as the server has said. The
// view stays as it was until the next session begins; then it is emptied, and the server tells everything again.

import { UsageError, Writer, fromHex, joinBytes, toHex, utf8 } from "./bytes.js";
import { Channel } from "./channel.js";
import { ChannelError } from "./frames.js";
import { webAgreement } from "./handshake.js";
import { ANSWER_MS, FINAL, LoginError, WHY_OVER, askLogin, readReply, replaceHost, toLoginError } from "./login.js";
import { NOT_RESUMED, RESUMES, STOPPING, TO_CLIENT, TO_SERVER, readSession } from "./messages.js";
import { confined, partEvents } from "./parts.js";
import { Pauses } from "./reconnect.js";
import { Schema } from "./schema.js";
import { View } from "./view.js";

const TICK_MS = 100;
const MOVE_REPEAT_MS = 1000;
const LEAVE_MS = 10000; // how long leave() waits for LOGGED_OFF

const HANDLERS = [
  "onPlayer", "onEnter", "onLeave", "onSpace", "onSpaceData", "onMoved", "onChange", "onCall", "onViolation",
  "onLoggedOff", "onClosed", "onState", "onQueue",
];
const NOT_SAVED = "The game server did not confirm that everything is saved: log in again, and check.";

/** One player's connection to the world. A client logs in once; the page makes a new client for another login. */
export class Client {
  state = "connecting";
  #events = {};
  #view = null;
  #channel = null;
  #mayReturn = true; // false after leave(), and after most reasons of LOGGED_OFF
  #closingSentence = null; // the sentence for onClosed, if leave() or LOGGED_OFF has set one
  #isAnswerQueued = false;
  #isMoveUnsent = false;
  #moveSentAt = -Infinity;
  #moveTimer = null; // until the next place may be sent
  #tickTimer = null;
  #now;
  #gameServer = null; // {url, key, environment}
  #session = null; // the token to resume with, and for how long: {token, ms}; null if the client cannot resume
  #resolveLogin = () => {}; // ends the wait of login()
  #rejectLogin = () => {};
  #endAttempt = () => {}; // ends the wait of an attempt to resume
  #mayWait; // whether the client waits in the queue if the world has no room
  #login = new AbortController(); // gives up the request to the login server
  #leaveTimer = null; // runs from the sending of BYE by leave()
  #resolveLeft; // ends the wait of leave()
  #left = new Promise((resolve) => {
    this.#resolveLeft = resolve;
  });

  constructor({ parts = {}, ...handlers } = {}) {
    const unknown = Object.keys(handlers).filter((name) => !HANDLERS.includes(name));
    if (unknown.length) throw new UsageError(`a client has no ${unknown.join(", ")}; it has ${HANDLERS.join(", ")}`);
    const asked = HANDLERS.filter((name) => handlers[name]);
    const events = Object.fromEntries(asked.map((name) => [name, confined(name, handlers[name])]));
    const none = Object.fromEntries(HANDLERS.map((name) => [name, () => {}]));
    this.#mayWait = asked.includes("onQueue");
    this.#events = { ...none, ...events, ...partEvents(parts, events) };
  }

  get player() {
    return this.#view?.player ?? null;
  }

  /** The present entities except the player's own, by id. */
  get entities() {
    return this.#view?.entities ?? new Map();
  }

  get space() {
    return this.#view?.space ?? null;
  }

  /** The data of the player's space, by key. */
  get spaceData() {
    return this.#view?.spaceData ?? {};
  }

  get violations() {
    return this.#view?.violations ?? 0;
  }

  get roundTripMs() {
    return this.#channel?.roundTripMs ?? null;
  }

  /** Whether the player has a body, so that it can move and call methods of its cell part. */
  get hasBody() {
    return this.space !== null && this.#isConnected;
  }

  get #isConnected() {
    return this.state === "connected" && this.#channel?.state === "OPEN";
  }

  /**
   * Logs in and joins the world; resolves with the player's entity. The entity has a body from onEnter on.
   *
   * `gameUrl(reply)` returns the address of the game server, from {host, ws_port} in the reply of the login server. By
   * default it is the login server's address with this host and this port. `agreement` replaces the X25519 of
   * WebCrypto, for browsers without it.
   */
  async login({ url, serverKey, name, password, schema, gameUrl, ...options }) {
    if (this.#view) throw new UsageError("this client has logged in before: make a new one");
    const types = schema instanceof Schema ? schema : new Schema(schema);
    const key = typeof serverKey === "string" ? fromHex(serverKey) : serverKey;
    const defaults = { WebSocket: globalThis.WebSocket, agreement: webAgreement, random: randomBytes, now: pageTime };
    const environment = { ...defaults, ...options };
    this.#now = environment.now;
    this.#view = new View(types, this.#viewEvents(), (...call) => this.#call(...call));
    const attempt = toHex(environment.random(16)); // a request that is sent again has the same
    const fields = { name, password, digest: types.digest, attempt, may_wait: this.#mayWait };
    const request = utf8.encoder.encode(JSON.stringify(fields));
    const login = { ...environment, signal: this.#login.signal, onQueue: this.#events.onQueue };
    const reply = readReply(await this.#asked(askLogin(url, key, request, login)), url);
    const address = gameUrl ? gameUrl(reply) : replaceHost(url, reply);
    const loginKey = joinBytes(fromHex(reply.key), utf8.encoder.encode(attempt)); // the key is bound to the attempt
    this.#gameServer = { url: address, key, environment };
    return this.#join(loginKey);
  }

  /**
   * Moves the player at once. The client sends the place to the server at once, or as soon as a tick has passed since it
   * sent the last one; then it sends the latest. Returns false, and does nothing, while the player has no body or rides on
   * another entity.
   */
  move(x, z, yaw = 0, y = this.player?.position[1] ?? 0, { pitch = 0, roll = 0 } = {}) {
    const isPlace = [x, y, z, yaw, pitch, roll].every((each) => Number.isFinite(Math.fround(each)));
    if (!isPlace) throw new UsageError("expected a place in finite numbers");
    if (!this.hasBody || this.player.ride) return false;
    this.#view.moveOwn([x, y, z], [yaw, pitch, roll]);
    this.#isMoveUnsent = true;
    const wait = this.#moveSentAt + TICK_MS - this.#now();
    if (wait <= 0) this.#sendMove();
    else this.#moveTimer ??= setTimeout(() => this.#sendMove(), wait);
    return true;
  }

  /**
   * Leaves the world; resolves when the server has confirmed with LOGGED_OFF that everything is saved, or when the
   * connection is closed. Without that confirmation, the sentence of `onClosed` states that.
   */
  async leave() {
    if (this.state === "gone") return;
    this.#closingSentence ??= "";
    this.#mayReturn = false;
    if (this.state === "reconnecting") {
      this.#stop(NOT_SAVED, false);
      this.#channel.abort();
      return;
    }
    this.#login.abort(); // a client in the queue gives up its place
    if (!this.#channel) return; // during login: #join calls leave() again when the session is open
    if (!this.#leaveTimer && this.#channel.send(Uint8Array.of(TO_SERVER.BYE))) {
      this.#closingSentence ||= NOT_SAVED;
      this.#leaveTimer = setTimeout(() => this.#channel.close(), LEAVE_MS);
    }
    await this.#left;
  }

  /** The answer of the login server; another sentence if the player has left meanwhile. */
  async #asked(answer) {
    try {
      return await answer;
    } catch (error) {
      if (this.#closingSentence === null) throw error;
      throw new LoginError("The player left before the world was there.");
    }
  }

  #join(loginKey) {
    const { url } = this.#gameServer;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new LoginError(`The game server at ${url} was reached but took too long to answer: try again later.`));
        this.#channel?.abort();
      }, ANSWER_MS);
      this.#resolveLogin = (player) => {
        clearTimeout(timer);
        resolve(player);
      };
      this.#rejectLogin = (error) => {
        clearTimeout(timer);
        reject(error);
      };
      this.#open(loginKey).then(
        () => {
          if (this.#closingSentence !== null) this.leave();
        },
        (error) => {
          this.state = "gone";
          this.#rejectLogin(toLoginError(error, "game", url));
        },
      );
    });
  }

  /** Opens a channel to the game server. `isFresh`: the view is that of an earlier session, until this one begins. */
  async #open(presented, isFresh = false) {
    const { url, key, environment } = this.#gameServer;
    let isFirst = isFresh;
    const onMessage = (message) => {
      if (isFirst && message[0] !== TO_CLIENT.LOGGED_OFF) {
        isFirst = false;
        this.#view.beginAnew();
      }
      if (message[0] === TO_CLIENT.SESSION) this.#session = readSession(message);
      else this.#view.apply(message);
      this.#answerSoon();
    };
    const onClosed = (reason) => this.#onClosed(reason);
    this.#channel = await Channel.connect(url, key, presented, { ...environment, onMessage, onClosed });
  }

  #onClosed(reason) {
    const { url } = this.#gameServer;
    const mayResume = this.#session && this.#closingSentence === null && !FINAL.includes(reason);
    if (mayResume && this.state === "connected") return void this.#resume();
    if (mayResume && this.state === "reconnecting") return void this.#endAttempt();
    const why = WHY_OVER[reason] ?? "ended the session: log in again";
    const sentence = this.#closingSentence ?? `The game server at ${url} ${why}.`;
    this.#rejectLogin(new LoginError(sentence || "The player left before the world was there.")); // no effect after it
    this.#endAttempt();
    this.#stop(sentence, this.#mayReturn && reason !== "PROTOCOL");
    return undefined;
  }

  /** The connection is lost: attempts to resume, until one succeeds, the server refuses, or it is too late. */
  async #resume() {
    const { url, environment } = this.#gameServer;
    const { ms: withinMs } = this.#session;
    const pauses = new Pauses(environment.random, this.#now(), withinMs);
    this.#stopTimers();
    for (let ms = pauses.next(this.#now()); ms !== null; ms = pauses.next(this.#now())) {
      this.#setState("reconnecting", { tries: pauses.tries, ms });
      await new Promise((resolve) => setTimeout(resolve, ms));
      if (this.state === "gone") return;
      await this.#attempt();
      if (this.state !== "reconnecting") return;
    }
    this.#stop(`The game server at ${url} could not be reached again within ${withinMs / 1000} s: log in again.`, true);
  }

  /** One attempt: returns when the client has its player again, or when the attempt has failed. */
  async #attempt() {
    let timer;
    const ended = new Promise((resolve) => {
      this.#endAttempt = resolve;
      timer = setTimeout(() => this.#channel.abort(), ANSWER_MS);
    });
    try {
      await this.#open(joinBytes(this.#session.token, RESUMES), true);
      if (this.state === "gone") this.#channel.abort(); // the player has left meanwhile
      await ended;
    } catch (error) {
      if (!(error instanceof ChannelError)) console.error(error);
      else if (FINAL.includes(error.reason)) this.#stop(toLoginError(error, "game", this.#gameServer.url).message, true);
    } finally {
      clearTimeout(timer);
      this.#endAttempt = () => {};
    }
  }

  #viewEvents() {
    return {
      ...this.#events,
      onPlayer: (player) => {
        this.#channel.send(Uint8Array.of(TO_SERVER.READY));
        this.#tickTimer = setInterval(() => this.#tick(), TICK_MS);
        this.#resolveLogin(player);
        this.#endAttempt();
        this.#setState("connected");
        this.#events.onPlayer(player);
      },
      onLoggedOff: (text, reason) => {
        if (this.#leaveTimer) this.#closingSentence = "";
        else this.#closingSentence ??= text || "The game server logged this player off.";
        this.#mayReturn &&= reason === STOPPING || reason === NOT_RESUMED;
        this.#events.onLoggedOff(text);
        this.#channel.close();
      },
    };
  }

  /** Sends the view's answers after the present task: once for all messages of a packet. */
  #answerSoon() {
    if (this.#isAnswerQueued) return;
    this.#isAnswerQueued = true;
    queueMicrotask(() => {
      this.#isAnswerQueued = false;
      const answers = this.#view.answers();
      if (this.#channel?.state === "OPEN") for (const each of answers) this.#channel.send(each);
    });
  }

  #call(message, reliable, needsBody) {
    if (!this.#isConnected || (needsBody && !this.hasBody)) return false;
    return this.#channel.send(message, { reliable });
  }

  /** MOVE is unreliable, so it repeats. */
  #tick() {
    if (this.#now() >= this.#moveSentAt + MOVE_REPEAT_MS) this.#isMoveUnsent = true;
    if (this.#moveTimer === null) this.#sendMove();
  }

  /** Sends the player's place, if it is not sent yet. A place from the server replaces an unsent one. */
  #sendMove() {
    clearTimeout(this.#moveTimer);
    this.#moveTimer = null;
    if (!this.hasBody || !this.#isMoveUnsent) return;
    this.#isMoveUnsent = false;
    this.#moveSentAt = this.#now();
    const writer = new Writer().u8(TO_SERVER.MOVE);
    for (const each of [...this.player.position, ...this.player.direction]) writer.f32(each);
    this.#channel.send(writer.done(), { reliable: false });
  }

  #stopTimers() {
    clearInterval(this.#tickTimer);
    clearTimeout(this.#moveTimer);
    this.#moveTimer = null;
  }

  /** `detail` is for pages: while reconnecting, {tries, ms}. */
  #setState(state, detail = {}) {
    this.state = state;
    this.#events.onState(state, detail);
  }

  #stop(sentence, mayReturn) {
    if (this.state === "gone") return;
    this.#stopTimers();
    clearTimeout(this.#leaveTimer);
    this.#resolveLeft();
    this.#setState("gone", { sentence });
    this.#events.onClosed(sentence, mayReturn);
  }
}

/**
 * Calls `attempt` until it succeeds; resolves with its result.
 *
 * A pause comes before each attempt. The pauses double from `firstMs` to `mostMs`, and have a random part, so that the
 * players of a restarted world do not all log in at the same moment. Before each pause, `comeBack` calls
 * `onWait(ms, tries, error)` with the error of the attempt before (null at first). It resolves with null as soon as
 * `isWanted()` returns false, and rejects with an error that has `isFinal`.
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
