// Login: the question to the LoginApp, its reply, and a sentence for each reason why a player is not in the world.

import { fromHex, utf8 } from "./bytes.js";
import { Channel } from "./channel.js";
import { ChannelError } from "./frames.js";

export const ANSWER_MS = 15000;
const TOLD_MS = 12000; // a client in the queue without news for so long takes its connection as lost
const RETURN_MS = 60000; // how long a client in the queue tries to get its place back
const RETURN_PAUSES_MS = [500, 1000, 2000, 4000];

/** The player is not in the world; the message is one sentence for the player. `code` is that of docs/login.md, or "". */
export class LoginError extends Error {
  constructor(sentence, code = "") {
    super(sentence);
    this.code = code;
  }
}

// The rest of a sentence that begins with the server; `client/failures.py` has the same sentences.

const WHY_NOT_OPEN = {
  NO_ANSWER: "does not answer: check the address, its public key, and that it runs",
  SERVER_FULL: "is full: try again later",
  BANNED: "does not take clients from this address, which is banned",
  WRONG_VERSION: "speaks another version of the protocol: reload the page",
  WRONG_SUITE: "does not allow AES-256-GCM, which browsers need",
  PATH_LOST: "cannot be reached, or closed the connection: check the address and that it runs",
};

/** Ends of a session, or of an attempt, after which a client does not resume. */
export const FINAL = ["PROTOCOL", "BANNED", "WRONG_VERSION", "WRONG_SUITE"];

export const WHY_OVER = {
  SILENT: "has not been heard for too long: check the network and log in again",
  SLOW_READER: "has more to say than this connection takes: try a faster one",
  PROTOCOL: "and this page do not understand each other: reload the page",
  KEYS_WORN: "needs new keys after a very long session: log in again",
  BANNED: "does not take clients from this address, which is banned",
  PATH_LOST: "lost the connection: check the network and log in again",
};

// The reasons for which a connection, or the attempt to open one, counts as lost.
const LOST = new Set(["PATH_LOST", "SILENT", "NO_ANSWER"]);

/**
 * Sends a request to the login server; resolves with the bytes of the answer, or rejects with a LoginError. If the
 * connection is lost before the answer, the same request is sent again, once: the server recognises it by `attempt`.
 *
 * A client that waits in the queue of the server (`onQueue` is given) gets its place: onQueue({place, waiting}). If the
 * connection is lost then, the request is sent again, with pauses that grow, and the client has its place again.
 * `signal`: an AbortSignal that gives the login up, and with it the place.
 */
export async function askLogin(url, serverKey, request, options) {
  let repeats = 1;
  let returns = 0;
  let returnBy = -Infinity;
  const onPlace = (place) => {
    returns = 0;
    returnBy = options.now() + RETURN_MS;
    options.onQueue?.(place);
  };
  for (;;) {
    try {
      return await askOnce(url, serverKey, request, { ...options, onPlace });
    } catch (error) {
      const mayReturn = LOST.has(error.reason) && options.now() < returnBy;
      if (mayReturn) await sleep(RETURN_PAUSES_MS[Math.min(returns, RETURN_PAUSES_MS.length - 1)]);
      if (mayReturn && !options.signal?.aborted) returns += 1;
      else if (error.reason === "PATH_LOST" && error.wasOpen && repeats > 0) repeats -= 1;
      else throw error;
    }
  }
}

/** One connection; the LoginError has the `reason` for which it has ended, and `wasOpen`. */
function askOnce(url, serverKey, request, options) {
  return new Promise((resolve, reject) => {
    let channel;
    let timer;
    let isWaiting = false;
    const end = (why, reason = "") => {
      clearTimeout(timer);
      const error = new LoginError(`The login server at ${url} ${why}.`);
      reject(Object.assign(error, { reason, wasOpen: channel !== undefined })); // has no effect after an answer
    };
    const waitFor = (ms, reason) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        end("was reached but took too long to answer: try again later", reason);
        if (!reason) channel?.abort(); // in the queue that would give up the place
      }, ms);
    };
    const giveUp = () => {
      if (!isWaiting) return; // a login that is in work goes on, and the client leaves when it is in
      end("was left");
      channel?.abort();
    };
    const onMessage = (message) => {
      const place = readPlace(message);
      if (place) {
        isWaiting = true;
        options.onPlace(place);
        waitFor(TOLD_MS, "SILENT");
        if (options.signal?.aborted) giveUp();
        return;
      }
      clearTimeout(timer);
      resolve(message);
      channel.close();
    };
    const onClosed = (reason) => {
      end(WHY_OVER[reason] ?? "ended the session without an answer: try again later", reason);
    };
    waitFor(ANSWER_MS, "");
    options.signal?.addEventListener("abort", giveUp);
    Channel.connect(url, serverKey, new Uint8Array(0), { ...options, onMessage, onClosed }).then(
      (opened) => {
        channel = opened;
        channel.send(request);
      },
      (error) => {
        clearTimeout(timer);
        reject(toLoginError(error, "login", url));
      },
    );
  });
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** {place, waiting} if the message is the client's place in the queue; otherwise null. */
function readPlace(data) {
  try {
    const { place, waiting } = JSON.parse(utf8.decoder.decode(data));
    return place > 0 ? { place, waiting } : null;
  } catch {
    return null; // readReply has a sentence for that
  }
}

/** Reads the answer of the login server: {key, host, ws_port}. */
export function readReply(data, url) {
  let reply;
  try {
    reply = JSON.parse(utf8.decoder.decode(data));
    fromHex(reply.key ?? "");
  } catch {
    throw new LoginError(`The login server at ${url} gave an answer that cannot be read: reload the page.`);
  }
  if (reply.error) throw new LoginError(reply.error, reply.code);
  if (!reply.ws_port) throw new LoginError(`The login server at ${url} knows no game server that takes WebSocket.`);
  return reply;
}

/** The address of the game server: that of the login server, with the host and the port of the reply. */
export function replaceHost(url, { host, ws_port: port }) {
  const address = new URL(url);
  if (host) address.hostname = host;
  address.port = String(port);
  return address.href;
}

/** The LoginError for a channel that could not be opened; another error as it is. `server` is "login" or "game". */
export function toLoginError(error, server, url) {
  if (!(error instanceof ChannelError)) return error;
  const why = WHY_NOT_OPEN[error.reason] ?? "refused the connection: try again later";
  const code = server === "login" ? error.reason.toLowerCase() : "";
  return Object.assign(new LoginError(`The ${server} server at ${url} ${why}.`, code), { reason: error.reason });
}
