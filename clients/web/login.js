// Login: the question to the LoginApp, its reply, and a sentence for each reason why a player is not in the world.

import { fromHex, utf8 } from "./bytes.js";
import { Channel } from "./channel.js";
import { ChannelError } from "./frames.js";

export const ANSWER_MS = 15000;

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

/**
 * Sends a request to the login server; resolves with the bytes of the answer, or rejects with a LoginError. If the
 * connection is lost before the answer, the same request is sent again, once: the server recognises it by `attempt`.
 */
export async function askLogin(url, serverKey, request, options, repeats = 1) {
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new LoginError(`The login server at ${url} ${why}.`));
    let channel;
    let hasAnswer = false;
    const timer = setTimeout(() => {
      fail("was reached but took too long to answer: try again later");
      channel?.abort();
    }, ANSWER_MS);
    const onMessage = (message) => {
      hasAnswer = true;
      resolve(message);
      channel.close();
    };
    const onClosed = (reason) => {
      clearTimeout(timer);
      if (reason === "PATH_LOST" && repeats > 0 && !hasAnswer) {
        askLogin(url, serverKey, request, options, repeats - 1).then(resolve, reject);
        return;
      }
      // This has no effect after an answer.
      fail(WHY_OVER[reason] ?? "ended the session without an answer: try again later");
    };
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
  return new LoginError(`The ${server} server at ${url} ${why}.`, server === "login" ? error.reason.toLowerCase() : "");
}
