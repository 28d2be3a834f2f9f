// What the map and the play page share: colours, canvases, smooth movement, and asking the console for JSON.

/** Chips of a terrazzo floor: a cell has the colour of its CellApp. */
const CHIPS = [
  [200, 84, 54], [40, 112, 140], [206, 150, 38], [92, 122, 62], [142, 74, 128], [46, 140, 118],
  [178, 62, 92], [84, 96, 176], [150, 104, 58], [60, 146, 176], [126, 134, 40], [104, 78, 160],
];

/** A CSS colour for an app such as "cell_app-2.1": the same index has the same colour on every page. */
export function colourOf(app, alpha = 1) {
  const index = Number(/-(\d+)/.exec(app)?.[1] ?? 0);
  const [r, g, b] = CHIPS[index % CHIPS.length];
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

/** "cell_app-2.1" in short: "cell 2". The incarnation is left out. */
export function shortName(app) {
  return app.replace(/_app_mgr-.*/, " manager").replace(/_app-(\d+).*/, " $1");
}

/** JSON from the console, or an Error with one sentence. */
export async function fetchJson(path) {
  let response;
  try {
    response = await fetch(path);
  } catch {
    throw new Error("The console does not answer: check that the cluster is still running, then reload the page.");
  }
  if (!response.ok) throw new Error(`The console refused ${path} (${response.status}): reload the page.`);
  return response.json();
}

/** A new element with text, a class and children. */
export function element(tag, { text = "", className = "", title = "" } = {}, ...children) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (className) made.className = className;
  if (title) made.title = title;
  made.append(...children);
  return made;
}

/** Makes a canvas as sharp as the screen; gives its size in CSS pixels and a context that draws in them. */
export function fitCanvas(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

const JUMP_M = 40; // a body that is further away in the next snapshot has not walked there

/** Numbers that go evenly from the values that are shown now to the latest values received. */
export class Glide {
  constructor(values, now) {
    this.from = this.to = values;
    this.since = now;
    this.during = 1;
  }

  /** New values, to be reached in `during` milliseconds. */
  aim(values, now, during) {
    const jumps = values.some((value, at) => Math.abs(value - this.to[at]) > JUMP_M);
    this.from = jumps ? values : this.at(now);
    this.to = values;
    this.since = now;
    this.during = Math.max(during, 1);
  }

  at(now) {
    const share = Math.min((now - this.since) / this.during, 1);
    return this.to.map((value, at) => this.from[at] + (value - this.from[at]) * share);
  }
}

/** The time between two updates, smoothed, in milliseconds. */
export class Rhythm {
  constructor(expected) {
    this.interval = expected;
    this.last = null;
  }

  beat(now) {
    if (this.last !== null) this.interval += (Math.min(now - this.last, 2000) - this.interval) * 0.2;
    this.last = now;
    return this.interval;
  }
}

/** Draws the shape of an entity type: the player's is a circle, the others get one each. */
export function pathOf(context, shape, x, y, size) {
  if (shape === 0) {
    context.moveTo(x + size, y);
    context.arc(x, y, size, 0, 2 * Math.PI);
    return;
  }
  const corners = [0, 4, 3, 4, 6][Math.min(shape, 4)];
  const turn = [0, 0, -Math.PI / 2, Math.PI / 4, 0][Math.min(shape, 4)];
  for (let corner = 0; corner < corners; corner += 1) {
    const angle = turn + (corner * 2 * Math.PI) / corners;
    const point = [x + size * 1.15 * Math.cos(angle), y + size * 1.15 * Math.sin(angle)];
    if (corner) context.lineTo(...point);
    else context.moveTo(...point);
  }
  context.closePath();
}

/** A round number of metres for grid lines about 80 pixels apart. */
export function gridStep(scale) {
  const rough = 80 / scale;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
}
