// The handshake of the client channel and its cryptography: docs/wire.md. OPEN and WELCOME agree on the keys of a
// session; X25519, HKDF and AES-256-GCM are those of WebCrypto.

import { Reader, UsageError, Writer, join, sameBytes, utf8 } from "./bytes.js";
import { ChannelError, PACKET, REASONS } from "./frames.js";

const VERSION = 1;
const AES_256_GCM = 2;
const LABEL = utf8.encoder.encode("terrazzo client channel 1");
export const TAG_BYTES = 16;
const COOKIE_BYTES = 24;
const WELCOME_HEAD_BYTES = 42;
const APP_DATA_BYTES_MAX = 1024;

function nonce(number) {
  const bytes = new Uint8Array(12);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, number % 2 ** 32, true);
  view.setUint32(8, Math.floor(number / 2 ** 32), true);
  return bytes;
}

/** X25519 by WebCrypto. A page for a browser without it passes another implementation of the same shape to `login`. */
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

export async function webAgree(privateKey, peer) {
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey("raw", peer, { name: "X25519" }, false, []);
  return new Uint8Array(await subtle.deriveBits({ name: "X25519", public: key }, privateKey, 256));
}

async function hash(...pieces) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", join(...pieces)));
}

/** Keys of 32 bytes for AES-256-GCM, by HKDF. */
async function deriveKeys(secret, salt, info, count) {
  if (secret.every((byte) => byte === 0)) throw new ChannelError("PROTOCOL");
  const from = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const how = { name: "HKDF", hash: "SHA-256", salt, info: utf8.encoder.encode(info) };
  const bits = new Uint8Array(await crypto.subtle.deriveBits(how, from, 256 * count));
  const pieces = Array.from({ length: count }, (_, at) => bits.slice(32 * at, 32 * at + 32));
  const uses = ["encrypt", "decrypt"];
  return Promise.all(pieces.map((key) => crypto.subtle.importKey("raw", key, "AES-GCM", false, uses)));
}

export async function seal(key, number, plain, header) {
  const how = { name: "AES-GCM", iv: nonce(number), additionalData: header, tagLength: 8 * TAG_BYTES };
  return new Uint8Array(await crypto.subtle.encrypt(how, key, plain));
}

/** What was sealed, or null if this is not what was sealed. */
export async function unseal(key, number, sealed, header) {
  const how = { name: "AES-GCM", iv: nonce(number), additionalData: header, tagLength: 8 * TAG_BYTES };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(how, key, sealed));
  } catch {
    return null;
  }
}

/** The client's side of the handshake: makes OPEN, reads what answers it. */
export class Handshake {
  static async start(serverKey, appData, { agreement, random }) {
    if (appData.length > APP_DATA_BYTES_MAX) {
      throw new UsageError(`application data: at most ${APP_DATA_BYTES_MAX} bytes`);
    }
    const own = await agreement.generate();
    const clientId = new DataView(random(4).buffer).getUint32(0, true);
    const hello = new Writer().u8(PACKET.OPEN).u8(VERSION).u32(clientId).u8(AES_256_GCM).bytes(own.publicKey);
    const head = hello.bytes(new Uint8Array(COOKIE_BYTES)).done(); // all zeros: the connection proves the address
    const openHash = await hash(LABEL, serverKey, head);
    const es = await own.agree(serverKey);
    const [openKey] = await deriveKeys(es, openHash, "open", 1);
    const openSeal = await seal(openKey, 0, appData, head);
    return Object.assign(new Handshake(), { own, clientId, es, openHash, openSeal, openPacket: join(head, openSeal) });
  }

  /** {serverId, sendKey, receiveKey} of a WELCOME, null for what is to be dropped; a REFUSE is a ChannelError. */
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
      const [sendKey, receiveKey, welcomeKey] = await deriveKeys(join(this.es, ee), sessionHash, "session", 3);
      const proof = await unseal(welcomeKey, 0, data.slice(WELCOME_HEAD_BYTES), head);
      return proof === null || ee.every((byte) => byte === 0) ? null : { serverId, sendKey, receiveKey };
    } catch {
      return null; // a key that leads nowhere
    }
  }

  #onRefuse(data) {
    const echoes = sameBytes(data.slice(6, 14), this.own.publicKey.slice(0, 8));
    if (echoes && new Reader(data, 2).u32("REFUSE") === this.clientId) {
      throw new ChannelError(REASONS[data[14]] ?? "ABORTED");
    }
  }
}
