// Keys and clicks as steps: which way the player goes in the next frame.
//
// A key that is down beats a click; a click that means nothing else is a goal, and is forgotten when it is reached, when
// a key is pressed, or when the server puts the player somewhere. Yaw 0 looks to greater z, a quarter turn to greater x.

const WAYS = {
  KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0],
};
const SPEED = 10; // metres a second
const SPEED_SHARE = 0.8; // of what the server allows at most

export class Steps {
  goal = null;
  #canvas;
  #toWorld;
  #down = new Set();
  #ends = new AbortController();

  /** `toWorld(px, py)` gives the place under a point of the canvas. */
  constructor(canvas, toWorld) {
    this.#canvas = canvas;
    this.#toWorld = toWorld;
  }

  /** Begins to hear. `acts` are functions by the code of a key; `onClick(px, py)` says whether it has dealt with it. */
  listen(acts, onClick) {
    const { signal } = this.#ends;
    const on = (target, name, handler) => target.addEventListener(name, handler, { signal });
    on(window, "keydown", (event) => this.#onKey(event, acts));
    on(window, "keyup", (event) => this.#down.delete(event.code));
    on(window, "blur", () => this.#down.clear());
    on(this.#canvas, "pointerdown", (event) => {
      if (!onClick(event.offsetX, event.offsetY)) this.goal = this.#toWorld(event.offsetX, event.offsetY);
    });
  }

  #onKey(event, acts) {
    const isTyping = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.code in WAYS) {
      this.#down.add(event.code);
      this.goal = null;
    } else if (event.code in acts && !event.repeat) {
      acts[event.code]();
    } else {
      return;
    }
    event.preventDefault(); // arrows would scroll, Enter would press a button
  }

  stop() {
    this.goal = null;
  }

  /** Hears nothing any more. */
  forget() {
    this.#ends.abort();
    this.#down.clear();
    this.stop();
  }

  /** Where somebody at (x, z) is after so many seconds, and which way it looks; null without a step. */
  next(x, z, seconds, topSpeed) {
    const far = Math.min(SPEED, SPEED_SHARE * topSpeed) * seconds;
    let [dx, dz] = [0, 0];
    for (const code of this.#down) [dx, dz] = [dx + WAYS[code][0], dz + WAYS[code][1]];
    if (!dx && !dz && this.goal) [dx, dz] = [this.goal.x - x, this.goal.z - z];
    const away = Math.hypot(dx, dz);
    if (!away) return null;
    const arrives = this.goal !== null && away <= far;
    const share = arrives ? 1 : far / away;
    if (arrives) this.goal = null;
    return { x: x + dx * share, z: z + dz * share, yaw: Math.atan2(dx, dz) };
  }
}
