// Draws a space: ground, cells, reals and ghosts. Each glides to its place in the latest snapshot.
//
// A real is a filled shape in the colour of the cell it lives in; a ghost is a ring in the colour of the cell that
// holds the copy. Where both are shown, the rings lie around the shape, so that the colours of the rings are the cells
// that have a copy. x goes right, z up.

import { colourOf, fitCanvas, Glide, gridStep, pathOf, Rhythm, shortName } from "./common.js";

const REAL_PX = 4.5;

/** Everything that is drawn of one space, and where it is now. */
export class Scene {
  cells = new Map(); // cell number → {cell, glide of its rectangle}
  bodies = new Map(); // "id" of a real, "id@app" of a ghost → {body, glide of its place}
  #rhythm = new Rhythm(200);

  take(space, now) {
    const during = this.#rhythm.beat(now) * 1.1; // a little more than is due: nothing stops when a snapshot is late
    const places = (each) => [each.x, each.z];
    const key = (each) => (each.real ? `${each.id}` : `${each.id}@${each.app}`);
    this.cells = this.#next(this.cells, space.cells, (each) => each.cell, (each) => each.rect, now, during);
    this.bodies = this.#next(this.bodies, space.entities, key, places, now, during);
  }

  #next(before, items, keyOf, valuesOf, now, during) {
    const next = new Map();
    for (const item of items) {
      const key = keyOf(item);
      const shown = before.get(key) ?? { glide: new Glide(valuesOf(item), now) };
      shown.glide.aim(valuesOf(item), now, during);
      shown.item = item;
      next.set(key, shown);
    }
    return next;
  }
}

/** From metres to pixels: fits the bounds into the canvas, then as the user zooms and drags. */
export class Eye {
  zoom = 1;
  shift = [0, 0];

  look(bounds, width, height) {
    const [x0, z0, x1, z1] = bounds;
    this.fit = Math.min((width - 48) / (x1 - x0), (height - 64) / (z1 - z0));
    this.scale = this.fit * this.zoom;
    this.centre = [width / 2 + this.shift[0], height / 2 + this.shift[1]];
    this.middle = [(x0 + x1) / 2, (z0 + z1) / 2];
  }

  toScreen(x, z) {
    return [this.centre[0] + (x - this.middle[0]) * this.scale, this.centre[1] - (z - this.middle[1]) * this.scale];
  }

  toScreenRect([x0, z0, x1, z1]) {
    const [left, top] = this.toScreen(x0, z1);
    const [right, bottom] = this.toScreen(x1, z0);
    return [left, top, right - left, bottom - top];
  }

  zoomAt(px, py, factor) {
    const next = Math.min(Math.max(this.zoom * factor, 0.5), 40);
    const by = next / this.zoom;
    this.shift = [0, 1].map((at) => this.shift[at] + ([px, py][at] - this.centre[at]) * (1 - by));
    this.zoom = next;
  }

  reset() {
    this.zoom = 1;
    this.shift = [0, 0];
  }
}

/** Draws everything; gives where each body was drawn. */
export function drawSpace(canvas, { space, scene, eye, shapeOf, now }) {
  const { context, width, height } = fitCanvas(canvas);
  eye.look(space.bounds, width, height);
  drawGround(context, eye, space.bounds);
  drawRuler(context, gridStep(eye.scale), eye.scale, width, height);
  const shown = [...scene.cells.values()];
  const cells = shown.map(({ item, glide }) => ({ cell: item, rect: eye.toScreenRect(glide.at(now)) }));
  for (const each of cells) drawCell(context, each);
  const places = drawBodies(context, { scene, eye, shapeOf, now });
  for (const each of cells) drawLabel(context, each);
  return places;
}

function drawGround(context, eye, bounds) {
  const [left, top, wide, high] = eye.toScreenRect(bounds);
  context.fillStyle = "#fbf9f5";
  context.shadowColor = "rgba(70, 55, 30, 0.18)";
  context.shadowBlur = 22;
  context.fillRect(left, top, wide, high);
  context.shadowBlur = 0;
  const step = gridStep(eye.scale);
  const [x0, z0, x1, z1] = bounds;
  context.beginPath();
  for (let x = Math.ceil(x0 / step) * step; x <= x1; x += step) {
    const [px] = eye.toScreen(x, 0);
    context.moveTo(px, top);
    context.lineTo(px, top + high);
  }
  for (let z = Math.ceil(z0 / step) * step; z <= z1; z += step) {
    const [, py] = eye.toScreen(0, z);
    context.moveTo(left, py);
    context.lineTo(left + wide, py);
  }
  context.strokeStyle = "rgba(120, 105, 85, 0.10)";
  context.lineWidth = 1;
  context.stroke();
}

function drawRuler(context, step, scale, width, height) {
  const long = step * scale;
  context.strokeStyle = context.fillStyle = "#857c70";
  context.beginPath();
  context.moveTo(width - 16 - long, height - 22);
  context.lineTo(width - 16 - long, height - 16);
  context.lineTo(width - 16, height - 16);
  context.lineTo(width - 16, height - 22);
  context.stroke();
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText(`${step} m`, width - 16 - long / 2, height - 22);
}

function drawCell(context, { cell, rect: [left, top, wide, high] }) {
  context.fillStyle = colourOf(cell.app, 0.1 + 0.22 * Math.min(cell.load ?? 0, 1));
  context.fillRect(left, top, wide, high);
  if (cell.is_lost) drawHatching(context, left, top, wide, high);
  context.strokeStyle = colourOf(cell.app, 0.85);
  context.lineWidth = 2;
  context.strokeRect(left + 2, top + 2, Math.max(wide - 4, 0), Math.max(high - 4, 0));
}

function drawHatching(context, left, top, wide, high) {
  context.save();
  context.beginPath();
  context.rect(left, top, wide, high);
  context.clip();
  context.beginPath();
  for (let at = -high; at < wide; at += 14) {
    context.moveTo(left + at, top + high);
    context.lineTo(left + at + high, top);
  }
  context.strokeStyle = "rgba(179, 48, 60, 0.45)";
  context.lineWidth = 2;
  context.stroke();
  context.restore();
}

function drawLabel(context, { cell, rect: [left, top, wide, high] }) {
  if (wide < 90 || high < 50) return;
  const load = cell.load === null ? "no load yet" : `load ${cell.is_load_estimated ? "≈ " : ""}${Math.round(cell.load * 100)} %`;
  const second = cell.is_lost ? "lost" : `${load} · ${cell.reals} reals · ${cell.ghosts} ghosts`;
  context.textAlign = "left";
  context.font = "650 13px system-ui, sans-serif";
  context.fillStyle = colourOf(cell.app);
  writeWithHalo(context, shortName(cell.app), left + 11, top + 22);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = "rgba(43, 40, 36, 0.72)";
  if (context.measureText(second).width < wide - 20) writeWithHalo(context, second, left + 11, top + 39);
}

/** Over dots, too, words can be read. */
function writeWithHalo(context, text, x, y) {
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = "rgba(251, 249, 245, 0.8)";
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}

/** Rings first, then the shapes. The player's type has shape 0, and is a little larger. */
function drawBodies(context, { scene, eye, shapeOf, now }) {
  const size = REAL_PX * Math.min(Math.max(Math.sqrt(eye.zoom), 0.8), 2.2);
  const places = [];
  const rings = new Map(); // ghosts of one entity lie around each other
  const paths = new Map(); // one path for each style: thousands of dots are a dozen strokes
  for (const { item, glide } of scene.bodies.values()) {
    const [px, py] = eye.toScreen(...glide.at(now));
    places.push({ item, px, py });
    const shape = shapeOf.get(item.type) ?? 4;
    const own = shape === 0 ? size : size * 0.8;
    const nth = item.real ? 0 : (rings.get(item.id) ?? 0) + 1;
    if (!item.real) rings.set(item.id, nth);
    const key = `${item.real ? "real" : "ghost"} ${item.app}`;
    if (!paths.has(key)) paths.set(key, { item, path: new Path2D() });
    pathOf(paths.get(key).path, shape, px, py, item.real ? own : own + 1 + 2.3 * nth);
  }
  const inOrder = [...paths.values()].sort((a, b) => a.item.real - b.item.real);
  for (const { item, path } of inOrder) {
    context.lineWidth = item.real ? 1.2 : 1.5;
    context.strokeStyle = item.real ? "rgba(255, 255, 255, 0.9)" : colourOf(item.app, 0.75);
    context.fillStyle = colourOf(item.app);
    if (item.real) context.fill(path);
    context.stroke(path);
  }
  return places;
}
