// The map of a space, live.
//
//     /api/live ──snapshots, 5 a second──▶ Scene: what is where, gliding ──every frame──▶ canvas        (chart.js)
//                                     └──▶ tabs, figures, legend, list of apps                          (side.js)

import { drawSpace, Eye, Scene } from "./chart.js";
import { fetchJson, shortName } from "./common.js";
import { showSide } from "./side.js";

const find = (id) => document.getElementById(id);
const HOVER_PX = 14;
const RETRY_MS = 1000;

const canvas = find("map");
const eye = new Eye();
let scene = new Scene();
let cluster = { name: "Terrazzo", player: "" };
let snapshot = null;
let shapeOf = new Map(); // type → number of its shape
let spaceName = decodeURIComponent(location.hash.slice(1));
let pointer = null; // where the mouse is over the canvas, in pixels

// Showing ------------------------------------------------------------------------------------------------------------

const presentSpace = () => snapshot?.spaces.find((each) => each.name === spaceName) ?? snapshot?.spaces[0] ?? null;

/** The player's type is a circle; the others get their shapes in the order of their names. */
function shapes() {
  const types = [...new Set(snapshot.spaces.flatMap((space) => space.entities.map((each) => each.type)))];
  const others = types.filter((type) => type !== cluster.player).sort();
  return new Map([[cluster.player, 0], ...others.map((type, at) => [type, at + 1])]);
}

function draw(now) {
  requestAnimationFrame(draw);
  const space = presentSpace();
  if (space) showTip(drawSpace(canvas, { space, scene, eye, shapeOf, now }));
}

function showTip(places) {
  const tip = find("tip");
  let nearest = null;
  for (const each of pointer ? places : []) {
    const away = Math.hypot(each.px - pointer[0], each.py - pointer[1]) - (each.item.real ? 2 : 0);
    if (away < HOVER_PX && (!nearest || away < nearest.away)) nearest = { ...each, away };
  }
  tip.hidden = !nearest;
  canvas.style.cursor = nearest ? "pointer" : "grab";
  if (!nearest) return;
  tip.textContent = tipText(nearest.item);
  tip.style.left = `${Math.min(nearest.px + 14, canvas.clientWidth - 190)}px`;
  tip.style.top = `${Math.min(nearest.py + 14, canvas.clientHeight - 90)}px`;
}

function tipText({ id, type, x, z }) {
  const all = [...scene.bodies.values()].map(({ item }) => item).filter((item) => item.id === id);
  const real = all.find((item) => item.real);
  const ghosts = all.filter((item) => !item.real).map((item) => shortName(item.app));
  return [
    `${type} ${id}`,
    real ? `real on ${shortName(real.app)}` : "its real is not in sight",
    ghosts.length ? `ghosts on ${ghosts.join(", ")}` : "no ghosts",
    `x ${x.toFixed(1)}  z ${z.toFixed(1)}`,
  ].join("\n");
}

function choose(name) {
  spaceName = name;
  location.hash = encodeURIComponent(name);
  scene = new Scene();
  eye.reset();
  take(snapshot);
}

// What comes in ------------------------------------------------------------------------------------------------------

function take(next) {
  snapshot = next;
  shapeOf = shapes();
  const space = presentSpace();
  if (space) scene.take(space, performance.now());
  showSide(snapshot, { space, shapeOf, choose });
}

function setStatus(text, kind) {
  Object.assign(find("status"), { textContent: text, className: `status ${kind}` });
}

function connect() {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/live`);
  socket.onopen = learnCluster; // after a restart it may be another one
  socket.onmessage = ({ data }) => {
    setStatus("live", "good");
    take(JSON.parse(data));
  };
  socket.onclose = () => {
    setStatus("the console does not answer, trying again", "bad");
    setTimeout(connect, RETRY_MS);
  };
}

function learnCluster() {
  fetchJson("/api/cluster").then(
    (said) => {
      cluster = said;
      if (snapshot) take(snapshot); // the shapes go by the player's type
      find("name").textContent = said.name;
      document.title = `${said.name}: the map`;
    },
    (error) => setStatus(error.message, "bad"),
  );
}

function listen() {
  let dragFrom = null;
  canvas.onpointermove = (event) => {
    pointer = [event.offsetX, event.offsetY];
    if (dragFrom) eye.shift = [0, 1].map((at) => dragFrom.shift[at] + pointer[at] - dragFrom.pointer[at]);
  };
  canvas.onpointerdown = (event) => {
    dragFrom = { pointer: [event.offsetX, event.offsetY], shift: eye.shift };
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointerup = canvas.onpointercancel = () => (dragFrom = null);
  canvas.onpointerleave = () => (pointer = null);
  canvas.ondblclick = () => eye.reset();
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (eye.centre) eye.zoomAt(event.offsetX, event.offsetY, Math.exp(-event.deltaY * 0.0015));
  }, { passive: false });
}

listen();
connect();
requestAnimationFrame(draw);
