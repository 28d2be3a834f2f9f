// The page to play in: a form, then the world around the player.
//
//     form ──login──▶ Client (/client/terrazzo.js) ──events──▶ Game: bodies, speech ──every frame──▶ canvas
//                                     ◀──move, say, strike── keys, clicks
//     in the world ──the connection is lost──▶ reconnecting: the client resumes, without a login ──▶ in the world
//          │                                        ▼ refused, or too late
//          └──the world stops──▶ coming back: the page logs in again, with growing pauses ──▶ in the world
//
// The page moves the player's own body at once and sends its place to the server, which may correct it (onMoved). Other
// bodies glide to the places that the server sends. Each failure is one sentence, on the form or in the log.

import { Client, comeBack } from "/client/terrazzo.js";
import { element, fetchJson, Rhythm, Glide, shortName } from "./common.js";
import { Steps } from "./walk.js";
import { HURT_MS, Painter } from "./world.js";

const find = (id) => document.getElementById(id);
const GROUND_MS = 1500; // how often borders are asked for
const SPEECH_MS = 6000;
const LOG_LINES = 80;
const BESIDE_M = 2; // the player stops so far from a body that was clicked on
const CLOSE = 0.6; // of the reach: so near one goes to strike, since the server may see it a moment later
const PAINTS = [0xc85436, 0x28708c, 0xce9626, 0x5c7a3e, 0x8e4a80, 0x2e8c76, 0xb23e5c, 0x5460b0];

// The host of an address that is only right on the machine of the cluster.
const LOCAL = new Set(["localhost", "127.0.0.1", "0.0.0.0", "[::]", "[::1]"]);

/** The address as this browser can reach it: what means "this machine" there is the machine this page came from. */
function reachable(url) {
  const address = new URL(url);
  if (LOCAL.has(address.hostname)) address.hostname = location.hostname;
  return address.href;
}

// One stay in the world ----------------------------------------------------------------------------------------------

class Game {
  bodies = new Map(); // id → {entity, glide, rhythm, speech, hurt}
  ground = null; // the space that the player is in, as the console shows it
  #cluster;
  #client;
  #steps;
  #painter = new Painter(find("world"));
  #space = null; // the number of the space that is shown
  #cell = null;
  #isIn = false;
  #isOver = false;
  #onOver;
  #frameAt = performance.now();
  #groundTimer = null;

  /** `onOver(sentence, mayReturn)` is called when a stay that had begun has ended. */
  constructor(cluster, onOver) {
    this.#cluster = cluster;
    this.#onOver = onOver;
    this.#client = new Client({
      onEnter: (entity) => this.#onEnter(entity),
      onLeave: (entity) => this.#onLeave(entity),
      onSpace: (entity) => this.#onSpace(entity),
      onMoved: (entity) => this.#onMoved(entity),
      onChange: (entity, name, change) => this.#onChange(entity, name, change),
      onCall: (entity, name, args) => this.#onCall(entity, name, args),
      onState: (state, detail) => this.#onState(state, detail),
      onClosed: (sentence, mayReturn) => this.#onClosed(sentence, mayReturn),
      onQueue: ({ place, waiting }) => showPlace(place, waiting),
    });
    this.#steps = new Steps(find("world"));
  }

  async join(name, password, schema) {
    const { login_url: url, public_key: serverKey } = this.#cluster;
    if (!url) throw new Error("The world is still starting: try again in a moment.");
    const login = reachable(url);
    const gameUrl = ({ host, ws_port: port }) => {
      const address = new URL(login);
      if (host && !LOCAL.has(host)) address.hostname = host;
      address.port = String(port);
      return address.href;
    };
    await this.#client.login({ url: login, serverKey, name, password, schema, gameUrl });
    this.#isIn = true;
    const keys = {
      KeyE: () => this.#do("pick_up"),
      KeyF: () => this.#do("go_through"),
      KeyR: () => this.#do("strike_nearest"),
      KeyT: () => this.#do("take_side", 1 - (this.#client.player?.properties.side ?? 0)),
      KeyC: () => this.#do("paint", this.#nextPaint()),
      Enter: () => find("words").focus(),
    };
    this.#steps.listen(keys, (px, py) => this.#click(px, py));
    showState("in");
    showNotice("You are in. Your body is on its way.");
    this.#groundTimer = setInterval(() => this.#learnGround(), GROUND_MS);
    this.#frameAt = performance.now();
    requestAnimationFrame((now) => this.#frame(now));
  }

  leave() {
    return this.#client.leave();
  }

  say(words) {
    this.#do("say", words);
  }

  // What the player does.

  #do(method, ...args) {
    const call = this.#client.player?.cell[method];
    if (!call) log(`This game has no ${method.replace("_", " ")}.`, "bad");
    else if (!call(...args)) log("Not now: you have no body, or the connection is full.", "bad");
  }

  /** Go to what was clicked on. An enemy is struck, at once if it is within reach. */
  #click(px, py) {
    if (!this.#client.hasBody) return;
    const { entity, isEnemy } = this.#painter.somebodyAt(px, py) ?? {};
    const point = this.#painter.toWorld(px, py);
    if (!entity) this.#steps.aim(() => point);
    else if (isEnemy && this.#client.player.cell.strike) this.#hunt(entity);
    else this.#steps.aim(() => this.#placeOf(entity), BESIDE_M);
  }

  #hunt(enemy) {
    const strike = () => this.#do("strike", enemy.id);
    const { position, properties } = this.#client.player;
    const place = this.#placeOf(enemy);
    if (!place) return;
    const away = Math.hypot(place.x - position[0], place.z - position[2]);
    const reach = properties.reach ?? Infinity; // a game without `reach`: the server decides
    if (away <= reach) {
      strike();
    } else {
      log(`${nameOf(enemy)} is ${away.toFixed(0)} m away: you go there to strike.`);
      this.#steps.aim(() => this.#placeOf(enemy), reach * CLOSE, strike);
    }
  }

  /** Where the body of an entity is shown; null when it is out of sight, or has fallen. */
  #placeOf(entity) {
    const body = this.bodies.get(entity.id);
    if (!body || entity.properties.health <= 0) return null;
    const [x, z] = body.glide.at(performance.now());
    return { x, z };
  }

  #nextPaint() {
    const now = PAINTS.indexOf(this.#client.player?.properties.colour);
    return PAINTS[(now + 1) % PAINTS.length];
  }

  #walk(seconds) {
    const player = this.#client.player;
    if (player.properties.health <= 0) return;
    const [x, , z] = player.position;
    const step = this.#steps.next(x, z, Math.min(seconds, 0.25), this.#cluster.top_speed);
    if (!step) return;
    const [x0, z0, x1, z1] = this.ground?.bounds ?? [-Infinity, -Infinity, Infinity, Infinity];
    const within = (value, low, high) => Math.min(Math.max(value, low), high);
    this.#client.move(within(step.x, x0, x1), within(step.z, z0, z1), step.yaw);
  }

  #frame(now) {
    if (this.#isOver) return;
    requestAnimationFrame((next) => this.#frame(next));
    if (this.#client.hasBody) {
      this.#walk((now - this.#frameAt) / 1000);
      this.#noteCell();
    }
    this.#frameAt = now;
    for (const body of this.bodies.values()) {
      if (body.speech && now > body.speech.until) body.speech = null;
      if (body.hurt && now > body.hurt.since + HURT_MS) body.hurt = null;
    }
    this.#painter.draw({
      now,
      player: this.#client.hasBody ? this.#client.player : null,
      bodies: this.bodies,
      ground: this.ground,
      goal: this.#steps.goal,
      areaRadius: this.#cluster.area_radius_m,
      showsCells: find("cells").checked,
    });
    this.#showFigures();
  }

  // What the server sends.

  #onEnter(entity) {
    const [x, , z] = entity.position;
    const now = performance.now();
    const glide = new Glide([x, z], now);
    this.bodies.set(entity.id, { entity, glide, rhythm: new Rhythm(100), speech: null, hurt: null });
    if (!entity.isPlayer) {
      this.#noteSight(entity, "comes into sight");
      return;
    }
    this.#arrive();
    showNotice("");
    this.#showBag();
    showKeys(entity.cell);
    find("world").focus();
  }

  /** The player's body is in a space: the first, or another one. */
  #arrive() {
    this.#steps.stop();
    this.#space = this.#client.space;
    this.#cell = null;
    this.ground = null;
    this.#learnGround().then(() => log(`You are in ${this.ground ? `the ${this.ground.name}` : "the world"}.`));
  }

  #onSpace(entity) {
    const [x, , z] = entity.position;
    this.bodies.get(entity.id).glide = new Glide([x, z], performance.now());
    this.#arrive();
  }

  #onLeave(entity) {
    this.bodies.delete(entity.id);
    if (entity.isPlayer) showNotice("You have no body just now: the game has taken it, or it is on its way.");
    else if (this.#client.space === this.#space) this.#noteSight(entity, "is out of sight");
  }

  /** Lines that are shown on request only: in a crowd they would be most of the log. */
  #noteSight(entity, what) {
    if (isSomebody(entity) && find("sights").checked) log(`${nameOf(entity)} ${what}.`);
  }

  #onMoved(entity) {
    const body = this.bodies.get(entity.id);
    if (!body) return;
    const now = performance.now();
    const [x, , z] = entity.position;
    body.glide.aim([x, z], now, body.rhythm.beat(now) * 1.1);
    if (entity.isPlayer) {
      this.#steps.stop();
      log("The server has put you somewhere else.");
    }
  }

  #onChange(entity, name, { old }) {
    if (name === "health") this.#onHealth(entity, old);
    if (!entity.isPlayer) return;
    if (name === "bag") this.#showBag();
    if (name === "side") log(`You are on side ${entity.properties.side} now: who has a dotted ring is on another one.`);
  }

  #onHealth(entity, old) {
    const { health } = entity.properties;
    const body = this.bodies.get(entity.id);
    if (body && health < old) body.hurt = { by: old - health, since: performance.now() };
    if (entity.isPlayer) {
      log(health < old ? `You are hurt by ${old - health}.` : "You are on your feet again.", health < old ? "bad" : "");
      showNotice(health > 0 ? "" : "You have fallen. In a moment you will be on your feet again.");
      if (health <= 0) this.#steps.stop();
    } else if (health <= 0 && old > 0) {
      log(`${nameOf(entity)} has fallen.`);
    }
  }

  #onCall(entity, name, args) {
    const [words] = args;
    if (name === "on_said") {
      const body = this.bodies.get(entity.id);
      if (body) body.speech = { words, until: performance.now() + SPEECH_MS };
      log(words, "said", nameOf(entity));
    } else if (name === "on_told") {
      log(words, "said");
    }
  }

  /** The connection: lost, or there again. */
  #onState(state, { tries, ms }) {
    if (!this.#isIn) return;
    if (state === "reconnecting") {
      if (tries === 1) log("The connection is lost.", "bad");
      showState("reconnecting");
      const pause = ms < 1000 ? "now" : `in ${Math.round(ms / 1000)} s`;
      showNotice(`The connection is lost. You come back by yourself: try ${tries}, ${pause}.`);
    } else if (state === "connected") {
      showState("in");
      log("The connection is there again.");
      showNotice("You are in. Your body is on its way.");
    }
  }

  #onClosed(sentence, mayReturn) {
    this.#isOver = true;
    clearInterval(this.#groundTimer);
    this.#steps.forget();
    if (this.#isIn) this.#onOver(sentence, mayReturn);
  }

  // What the page shows.

  async #learnGround() {
    try {
      const { spaces } = await fetchJson("/api/snapshot");
      this.ground = spaces.find((each) => each.id === this.#client.space) ?? null;
    } catch {
      // The console is not needed to play: the borders stay as they were.
    }
  }

  #noteCell() {
    const [x, , z] = this.#client.player.position;
    const cell = this.ground?.cells.find(({ rect: [x0, z0, x1, z1] }) => x >= x0 && x < x1 && z >= z0 && z < z1);
    if (!cell || cell.app === this.#cell) return;
    if (this.#cell && find("cells").checked) log(`You crossed a border: this is the ground of ${shortName(cell.app)}.`);
    this.#cell = cell.app;
  }

  #showFigures() {
    const player = this.#client.player;
    if (!player) return;
    const others = [...this.bodies.values()].filter(({ entity }) => !entity.isPlayer).length;
    const [x, , z] = player.position;
    const delay = this.#client.roundTripMs;
    const place = this.#cell ? `${this.ground?.name ?? ""} · ${shortName(this.#cell)}` : (this.ground?.name ?? "");
    const words = [place, `${x.toFixed(0)}, ${z.toFixed(0)}`, `${others} in sight`];
    if ("health" in player.properties) words.push(`health ${player.properties.health}`);
    if (delay !== null) words.push(`${Math.round(delay)} ms`);
    const figures = [element("b", { text: nameOf(player) }), ...words.map((text) => element("span", { text }))];
    find("figures").replaceChildren(...figures);
  }

  #showBag() {
    const bag = this.#client.player?.properties.bag ?? [];
    const buttons = bag.map(({ kind, count }, place) => {
      const button = element("button", { className: "plain", text: `${count} × kind ${kind}`, title: "throw it away" });
      button.onclick = () => this.#do("drop", place);
      return button;
    });
    find("bag").replaceChildren(...(buttons.length ? buttons : ["empty"]));
  }
}

const isSomebody = (entity) => typeof entity.properties.name === "string";

function nameOf(entity) {
  return entity.properties.name || `${entity.type} ${entity.id}`;
}

// The page -----------------------------------------------------------------------------------------------------------

let game = null;
let stay = null; // the account that is in the world, or comes back to it: {name, password, publicKey}; or null

function log(text, className = "", who = "") {
  const line = element("li", { className }, who ? element("b", { text: `${who}: ` }) : "", text);
  find("log").prepend(line);
  while (find("log").children.length > LOG_LINES) find("log").lastChild.remove();
}

const STATES = {
  in: { textContent: "in the world", className: "status good" },
  reconnecting: { textContent: "reconnecting", className: "status bad" },
  returning: { textContent: "coming back", className: "status bad" },
  out: { textContent: "not in the world", className: "status" },
};

/** While the page logs in again, the stage stays visible under a notice. */
function showState(state) {
  find("door").hidden = state !== "out";
  for (const id of ["stage", "side", "leave"]) find(id).hidden = state === "out";
  Object.assign(find("status"), STATES[state]);
  if (state !== "in") find("figures").textContent = "";
}

function showNotice(text) {
  Object.assign(find("notice"), { textContent: text, hidden: !text });
}

/** Only the keys that this game has an answer to. */
function showKeys(methods) {
  for (const word of document.querySelectorAll("[data-method]")) word.hidden = !methods[word.dataset.method];
}

/** The place in the queue of a full world; 0: the player does not wait. */
function showPlace(place, waiting) {
  const sentence = `The world is full just now. You are number ${place} of ${waiting} in the queue, and come in by yourself.`;
  find("queue").hidden = !place;
  find("place").textContent = place ? sentence : "";
  if (place && find("door").hidden) showNotice(sentence);
}

function showFailure(sentence) {
  Object.assign(find("failure"), { textContent: sentence, hidden: !sentence });
}

function sentenceOf(error) {
  const known = ["LoginError", "UsageError", "Error"].includes(error.constructor.name);
  return known ? error.message : `This page has made a mistake (${error.message}): reload it and try again.`;
}

async function join(event) {
  event.preventDefault();
  const button = find("join");
  button.disabled = true;
  showFailure("");
  const account = { name: find("who").value.trim(), password: find("password").value, publicKey: null };
  try {
    find("log").replaceChildren();
    stay = account;
    await enter(account);
    sessionStorage.setItem("name", account.name);
  } catch (error) {
    leaveStage(stay === account ? sentenceOf(error) : "");
  } finally {
    showPlace(0, 0);
    button.disabled = false;
  }
}

/** Logs in. A world that restarts has the same key; one with another key is another world, and not to be entered so. */
async function enter(account) {
  const [cluster, schema] = await Promise.all([fetchJson("/api/cluster"), fetchJson("/api/schema")]);
  if (account.publicKey !== null && account.publicKey !== cluster.public_key) {
    const error = new Error(`Another world is at this address now, the ${cluster.name}: join it, if you like.`);
    throw Object.assign(error, { isFinal: true });
  }
  account.publicKey = cluster.public_key;
  const entered = new Game(cluster, (sentence, mayReturn) => onOver(account, sentence, mayReturn));
  game = entered;
  await entered.join(account.name, account.password, schema);
  if (stay !== account) entered.leave(); // the player has changed their mind meanwhile
}

/** The stay is over: for good, or until the world is there again. */
async function onOver(account, sentence, mayReturn) {
  if (!mayReturn || stay !== account) {
    leaveStage(sentence);
    return;
  }
  showState("returning");
  log(`You are out of the world: ${sentence}`, "bad");
  const onWait = (ms, tries) => {
    const pause = `${Math.max(1, Math.round(ms / 1000))} s`;
    showNotice(`The world is away just now. You come back by yourself: try ${tries}, in ${pause}.`);
  };
  try {
    await comeBack(() => enter(account), { onWait, isWanted: () => stay === account });
  } catch (error) {
    leaveStage(sentenceOf(error));
  }
}

function leaveStage(sentence) {
  stay = null;
  showState("out");
  showNotice("");
  showFailure(sentence);
}

/** The player chose to leave: the world, or the attempt to return to it. */
async function leave() {
  const isOut = find("status").textContent === STATES.returning.textContent;
  stay = null;
  if (isOut) leaveStage("");
  await game?.leave();
}

find("who").value = sessionStorage.getItem("name") ?? "";
find("door").onsubmit = join;
find("leave").onclick = leave;
find("give-up").onclick = leave;
find("chat").onsubmit = (event) => {
  event.preventDefault();
  const words = find("words").value.trim();
  find("words").value = "";
  if (words) game?.say(words);
  find("world").focus();
};
find("words").onkeydown = (event) => {
  if (event.key === "Escape") find("world").focus();
};
// A page that is loaded anew has its place in the queue again, if it did not give it up.
window.addEventListener("pagehide", () => find("queue").hidden && game?.leave());
fetchJson("/api/cluster").then(
  ({ name }) => {
    find("name").textContent = name;
    find("title").textContent = `Join the ${name}`;
    document.title = `${name}: play`;
  },
  (error) => showFailure(error.message),
);
