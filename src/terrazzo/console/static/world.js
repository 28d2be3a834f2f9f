// Draws the world around the player: ground, borders of cells, bodies with name and health, blows, speech.

import { colourOf, fitCanvas, gridStep, pathOf, shortName } from "./common.js";

const BODY_M = 1.4;
const LEAST_PX = 5;
const CLICK_PX = 12; // so near to the middle of a body a click means it
export const HURT_MS = 1200; // how long a blow is shown
const AREAS_SHOWN = 2.05; // radii of the area of interest across the picture: its edge can be seen
const SPECIES = ["#5c7a3e", "#8e4a80", "#96683a", "#3c92b0"];
const DOWN = "#b8b0a4"; // without health
const KINDS = ["#ce9626", "#28708c", "#b23e5c", "#5460b0", "#2e8c76"];

export class Painter {
  #canvas;
  #centre = [0, 0];
  #side = 0; // of the player; bodies of another side can be struck
  #middle = [0, 0];
  #scale = 1;
  #shown = []; // the bodies as they were drawn last: {entity, px, py, …}

  constructor(canvas) {
    this.#canvas = canvas;
  }

  toWorld(px, py) {
    return {
      x: this.#centre[0] + (px - this.#middle[0]) / this.#scale,
      z: this.#centre[1] - (py - this.#middle[1]) / this.#scale,
    };
  }

  /** The body at this point of the canvas: {entity, isEnemy}, an enemy before a friend; or undefined. */
  somebodyAt(px, py) {
    const away = (each) => Math.hypot(each.px - px, each.py - py);
    const isMeant = ({ entity }) => !entity.isPlayer && "side" in entity.properties && entity.properties.health > 0;
    const near = this.#shown.filter((each) => isMeant(each) && away(each) <= CLICK_PX);
    return near.sort((a, b) => b.isEnemy - a.isEnemy || away(a) - away(b))[0];
  }

  #toScreen(x, z) {
    return [
      this.#middle[0] + (x - this.#centre[0]) * this.#scale,
      this.#middle[1] - (z - this.#centre[1]) * this.#scale,
    ];
  }

  draw({ now, player, bodies, ground, goal, areaRadius, showsCells }) {
    const { context, width, height } = fitCanvas(this.#canvas);
    if (!player) return;
    this.#centre = [player.position[0], player.position[2]];
    this.#middle = [width / 2, height / 2];
    this.#side = player.properties.side;
    this.#scale = Math.min(width, height) / (AREAS_SHOWN * areaRadius);
    this.#drawGround(context, ground, showsCells, width, height);
    this.#drawArea(context, areaRadius, goal);
    if (player.properties.reach && player.properties.health > 0) this.#drawReach(context, player.properties.reach);
    this.#shown = [...bodies.values()].map((body) => this.#place(body, now)).sort((a, b) => a.py - b.py);
    for (const each of this.#shown) this.#drawBody(context, each);
    for (const each of this.#shown) this.#drawWords(context, each);
    for (const each of this.#shown) if (each.hurt) drawHurt(context, each, (now - each.hurt.since) / HURT_MS);
  }

  #place(body, now) {
    const { entity, glide } = body;
    const place = entity.isPlayer ? [entity.position[0], entity.position[2]] : glide.at(now);
    const [px, py] = this.#toScreen(...place);
    const isEnemy = "side" in entity.properties && entity.properties.side !== this.#side;
    return { ...body, px, py, size: Math.max(BODY_M * this.#scale, LEAST_PX), isEnemy };
  }

  #rect([x0, z0, x1, z1]) {
    const [left, top] = this.#toScreen(x0, z1);
    const [right, bottom] = this.#toScreen(x1, z0);
    return [left, top, right - left, bottom - top];
  }

  #drawGround(context, ground, showsCells, width, height) {
    context.fillStyle = "#e6dfd3";
    context.fillRect(0, 0, width, height);
    context.fillStyle = "#fbf9f5";
    context.fillRect(...(ground ? this.#rect(ground.bounds) : [0, 0, width, height]));
    const step = gridStep(this.#scale);
    const from = this.toWorld(0, height);
    const to = this.toWorld(width, 0);
    context.beginPath();
    for (let x = Math.ceil(from.x / step) * step; x < to.x; x += step) {
      const [px] = this.#toScreen(x, 0);
      context.moveTo(px, 0);
      context.lineTo(px, height);
    }
    for (let z = Math.ceil(from.z / step) * step; z < to.z; z += step) {
      const [, py] = this.#toScreen(0, z);
      context.moveTo(0, py);
      context.lineTo(width, py);
    }
    context.strokeStyle = "rgba(120, 105, 85, 0.13)";
    context.lineWidth = 1;
    context.stroke();
    for (const cell of (showsCells && ground?.cells) || []) this.#drawCell(context, cell);
  }

  #drawCell(context, cell) {
    const [left, top, wide, high] = this.#rect(cell.rect);
    context.fillStyle = colourOf(cell.app, 0.1);
    context.fillRect(left, top, wide, high);
    context.strokeStyle = colourOf(cell.app, 0.6);
    context.lineWidth = 2;
    context.strokeRect(left + 1.5, top + 1.5, wide - 3, high - 3);
    context.fillStyle = colourOf(cell.app, 0.9);
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "left";
    // At the corner of the cell, or where the cell comes into the picture.
    if (left + wide > 90 && top + high > 40) {
      context.fillText(shortName(cell.app), Math.max(left, 0) + 11, Math.max(top, 0) + 20);
    }
  }

  #drawArea(context, areaRadius, goal) {
    context.beginPath();
    context.arc(...this.#middle, areaRadius * this.#scale, 0, 2 * Math.PI);
    context.setLineDash([4, 6]);
    context.strokeStyle = "rgba(43, 40, 36, 0.22)";
    context.lineWidth = 1;
    context.stroke();
    context.setLineDash([]);
    if (!goal) return;
    const [px, py] = this.#toScreen(goal.x, goal.z);
    context.beginPath();
    context.arc(px, py, 6, 0, 2 * Math.PI);
    context.strokeStyle = "#c85436";
    context.lineWidth = 2;
    context.stroke();
  }

  /** How far the player's blows reach. */
  #drawReach(context, reach) {
    context.beginPath();
    context.arc(...this.#middle, reach * this.#scale, 0, 2 * Math.PI);
    context.fillStyle = "rgba(179, 48, 60, 0.07)";
    context.fill();
    context.strokeStyle = "rgba(179, 48, 60, 0.45)";
    context.lineWidth = 1;
    context.stroke();
  }

  #drawBody(context, { entity, px, py, size, isEnemy }) {
    const { type, properties, yaw } = entity;
    context.lineWidth = 2;
    context.strokeStyle = "white";
    if (type === "Door") return drawDoor(context, px, py, size);
    if (type === "Thing") {
      context.fillStyle = KINDS[(properties.kind ?? 0) % KINDS.length];
      return fillShape(context, 1, px, py, size * 0.6);
    }
    const isPerson = "name" in properties;
    const isDown = properties.health <= 0;
    const alive = isPerson ? cssColour(properties.colour) : SPECIES[(properties.species ?? 0) % SPECIES.length];
    context.fillStyle = isDown ? DOWN : alive;
    if (isPerson && !isDown) drawNose(context, px, py, size, yaw);
    fillShape(context, isPerson ? 0 : 2, px, py, isPerson ? size : size * 0.75);
    if (entity.isPlayer) {
      context.beginPath();
      context.arc(px, py, size + 4, 0, 2 * Math.PI);
      context.strokeStyle = "rgba(43, 40, 36, 0.6)";
      context.lineWidth = 1.5;
      context.stroke();
    }
    if (isEnemy) drawEnmity(context, px, py, size);
    if (properties.health < 100) drawHealth(context, px, py + size + 7, properties.health);
  }

  #drawWords(context, { entity, speech, px, py, size }) {
    const name = entity.properties.name ?? (entity.type === "Door" ? `to the ${entity.properties.to_space}` : "");
    context.textAlign = "center";
    if (name) {
      context.font = `${entity.isPlayer ? 650 : 500} 12px system-ui, sans-serif`;
      context.lineWidth = 3;
      context.strokeStyle = "rgba(251, 249, 245, 0.85)";
      context.strokeText(name, px, py - size - 8);
      context.fillStyle = "#2b2824";
      context.fillText(name, px, py - size - 8);
    }
    if (speech) drawBubble(context, speech.words, px, py - size - 30);
  }
}

const cssColour = (rgb) => `#${((rgb ?? 0x857c70) & 0xffffff).toString(16).padStart(6, "0")}`;

function fillShape(context, shape, px, py, size) {
  context.beginPath();
  pathOf(context, shape, px, py, size);
  context.fill();
  context.stroke();
}

function drawNose(context, px, py, size, yaw) {
  context.beginPath();
  for (const [turn, away] of [[0, 1.7], [0.6, 0.9], [-0.6, 0.9]]) {
    context.lineTo(px + Math.sin(yaw + turn) * size * away, py - Math.cos(yaw + turn) * size * away);
  }
  context.fill();
}

function drawDoor(context, px, py, size) {
  context.fillStyle = "#2b2824";
  context.beginPath();
  context.roundRect(px - size * 0.9, py - size * 1.6, size * 1.8, size * 2.4, [size * 0.9, size * 0.9, 2, 2]);
  context.fill();
  context.stroke();
}

function drawHealth(context, px, py, health) {
  context.fillStyle = "rgba(43, 40, 36, 0.2)";
  context.fillRect(px - 14, py, 28, 4);
  context.fillStyle = health > 40 ? "#4f8a4b" : "#b3303c";
  context.fillRect(px - 14, py, 0.28 * Math.max(health, 0), 4);
}

/** A dotted ring: of another side. */
function drawEnmity(context, px, py, size) {
  context.beginPath();
  context.arc(px, py, size + 3, 0, 2 * Math.PI);
  context.setLineDash([2, 3]);
  context.strokeStyle = "#b3303c";
  context.lineWidth = 1.5;
  context.stroke();
  context.setLineDash([]);
}

/** What a blow took, rising and fading; `share` of its time is over. */
function drawHurt(context, { hurt, px, py, size }, share) {
  context.globalAlpha = Math.max(1 - share, 0);
  context.beginPath();
  context.arc(px, py, size + 4 + 14 * share, 0, 2 * Math.PI);
  context.strokeStyle = "#b3303c";
  context.lineWidth = 3;
  context.stroke();
  context.font = "700 15px system-ui, sans-serif";
  context.textAlign = "center";
  context.lineWidth = 3;
  context.strokeStyle = "rgba(251, 249, 245, 0.9)";
  const words = `\u2212${hurt.by}`;
  context.strokeText(words, px + size + 14, py - 18 * share);
  context.fillStyle = "#b3303c";
  context.fillText(words, px + size + 14, py - 18 * share);
  context.globalAlpha = 1;
}

function drawBubble(context, words, px, py) {
  const text = words.length > 60 ? `${words.slice(0, 59)}…` : words;
  context.font = "13px system-ui, sans-serif";
  const wide = context.measureText(text).width + 18;
  context.beginPath();
  context.roundRect(px - wide / 2, py - 18, wide, 26, 9);
  context.fillStyle = "white";
  context.fill();
  context.strokeStyle = "#ddd5c8";
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = "#2b2824";
  context.fillText(text, px, py);
}
