// The handshake of the client channel and its cryptography: docs/wire.md. OPEN and WELCOME agree on the keys of a
// session. WebCrypto does X25519, HKDF and AES-256-GCM.

import { Reader, UsageError, Writer, joinBytes, sameBytes, utf8 } from "./bytes.js";
import { ChannelError, PACKET, REASONS } from "./frames.js";

const VERSION = 1;
const AES_256_GCM = 2;
const LABEL = utf8.encoder.encode("terrazzo client channel 1");
export const TAG_BYTES = 16;
const COOKIE_BYTES = 24;
const WELCOME_HEAD_BYTES = 42;
const APP_DATA_BYTES_MAX = 1024;

/** The nonce of a packet, from its number. */
function nonce(number) {
  const bytes = new Uint8Array(12);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, number % 2 ** 32, true);
  view.setUint32(8, Math.floor(number / 2 ** 32), true);
  return bytes;
}

/** X25519 of WebCrypto. A page for browsers without it passes an object with the same methods to `login`. */
export const webAgreement = {
  async generate() {
    const { subtle } = globalThis.crypto ?? {};
    if (!subtle) throw new UsageError("This page has no WebCrypto: open it over https or on localhost.");
    let pair;
    try {
      pair = await subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]);
    } catch {
      throw new UsageError("This browser has no X25519 in WebCrypto: use a newer one.");
    }
    const publicKey = new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
    return { publicKey, agree: (peer) => webAgree(pair.privateKey, peer) };
  },
};

/** The shared secret of an own private key and the public key of the peer. */
export async function webAgree(privateKey, peer) {
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey("raw", peer, { name: "X25519" }, false, []);
  return new Uint8Array(await subtle.deriveBits({ name: "X25519", public: key }, privateKey, 256));
}

async function hash(...pieces) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joinBytes(...pieces)));
}

/** Derives `count` keys for AES-256-GCM from a secret, with HKDF. */
async function deriveKeys(secret, salt, info, count) {
  if (secret.every((byte) => byte === 0)) throw new ChannelError("PROTOCOL");
  const from = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt, info: utf8.encoder.encode(info) };
  const bits = new Uint8Array(await crypto.subtle.deriveBits(algorithm, from, 256 * count));
  const pieces = Array.from({ length: count }, (_, at) => bits.slice(32 * at, 32 * at + 32));
  const uses = ["encrypt", "decrypt"];
  return Promise.all(pieces.map((key) => crypto.subtle.importKey("raw", key, "AES-GCM", false, uses)));
}

function aesGcm(number, header) {
  return { name: "AES-GCM", iv: nonce(number), additionalData: header, tagLength: 8 * TAG_BYTES };
}

/** Encrypts and authenticates a packet; `header` is authenticated only. */
export async function seal(key, number, plain, header) {
  return new Uint8Array(await crypto.subtle.encrypt(aesGcm(number, header), key, plain));
}

/** Decrypts a sealed packet; returns null if key, number, header or bytes are not those of the sealing. */
export async function unseal(key, number, sealed, header) {
  try {
    return new Uint8Array(await crypto.subtle.decrypt(aesGcm(number, header), key, sealed));
  } catch {
    return null;
  }
}

/** The client's side of the handshake: makes OPEN and reads WELCOME or REFUSE. `es` and `ee` are the two secrets. */
export class Handshake {
  static async start(serverKey, appData, { agreement, random }) {
    if (appData.length > APP_DATA_BYTES_MAX) {
      throw new UsageError(`application data: at most ${APP_DATA_BYTES_MAX} bytes`);
    }
    const own = await agreement.generate();
    const clientId = new DataView(random(4).buffer).getUint32(0, true);
    const hello = new Writer().u8(PACKET.OPEN).u8(VERSION).u32(clientId).u8(AES_256_GCM).bytes(own.publicKey);
    // The cookie is all zeros: a WebSocket proves the client's address without one.
    const head = hello.bytes(new Uint8Array(COOKIE_BYTES)).done();
    const openHash = await hash(LABEL, serverKey, head);
    const es = await own.agree(serverKey);
    const [openKey] = await deriveKeys(es, openHash, "open", 1);
    const openSeal = await seal(openKey, 0, appData, head);
    const openPacket = joinBytes(head, openSeal);
    return Object.assign(new Handshake(), { own, clientId, es, openHash, openSeal, openPacket });
  }

  /** Returns {serverId, sendKey, receiveKey} of a WELCOME, or null for a packet to drop. Throws for a REFUSE. */
  async answer(data) {
    if (data[0] === PACKET.REFUSE && data.length >= 18) this.#onRefuse(data);
    if (data[0] !== PACKET.WELCOME || data.length !== WELCOME_HEAD_BYTES + TAG_BYTES) return null;
    const head = data.slice(0, WELCOME_HEAD_BYTES);
    const reader = new Reader(head, 2);
    if (reader.u32("WELCOME") !== this.clientId) return null;
    const serverId = reader.u32("WELCOME");
    try {
      const ee = await this.own.agree(reader.bytes(32, "WELCOME"));
      const sessionHash = await hash(this.openHash, this.openSeal, head);
      const [sendKey, receiveKey, welcomeKey] = await deriveKeys(joinBytes(this.es, ee), sessionHash, "session", 3);
      const proof = await unseal(welcomeKey, 0, data.slice(WELCOME_HEAD_BYTES), head);
      return proof === null || ee.every((byte) => byte === 0) ? null : { serverId, sendKey, receiveKey };
    } catch {
      return null; // the server's key is not a valid one
    }
  }

  #onRefuse(data) {
    const echoes = sameBytes(data.slice(6, 14), this.own.publicKey.slice(0, 8));
    if (echoes && new Reader(data, 2).u32("REFUSE") === this.clientId) {
      throw new ChannelError(REASONS[data[14]] ?? "ABORTED");
    }
  }
}
