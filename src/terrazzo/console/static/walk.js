// Keys and clicks as steps: which way the player goes in the next frame.
//
// A key that is down has priority over a click. A click sets a goal: a place, or an entity, which may move meanwhile. The
// goal ends when it is reached, when the entity is gone, when a key is pressed, or when the server moves the player. Yaw
// 0 looks to greater z, a quarter turn to greater x.

const WAYS = {
  KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0],
};
const SPEED = 10; // metres a second
const SPEED_SHARE = 0.8; // of what the server allows at most

export class Steps {
  #canvas;
  #down = new Set();
  #ends = new AbortController();
  #goal = null; // {where, short, onReached}

  constructor(canvas) {
    this.#canvas = canvas;
  }

  /** Where the goal is in this moment, or null. */
  get goal() {
    return this.#goal?.where() ?? null;
  }

  /** Go there: `where()` gives {x, z}, or null when it is gone. `short` metres before it, it is reached. */
  aim(where, short = 0, onReached = () => {}) {
    this.#goal = { where, short, onReached };
  }

  /** Begins to listen for keys and clicks. `acts` are functions by the code of a key; `onClick(px, py)` is for clicks. */
  listen(acts, onClick) {
    const { signal } = this.#ends;
    const on = (target, name, handler) => target.addEventListener(name, handler, { signal });
    on(window, "keydown", (event) => this.#onKey(event, acts));
    on(window, "keyup", (event) => this.#down.delete(event.code));
    on(window, "blur", () => this.#down.clear());
    on(this.#canvas, "pointerdown", (event) => onClick(event.offsetX, event.offsetY));
  }

  #onKey(event, acts) {
    const isTyping = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.code in WAYS) {
      this.#down.add(event.code);
      this.stop();
    } else if (event.code in acts && !event.repeat) {
      acts[event.code]();
    } else {
      return;
    }
    event.preventDefault(); // arrows would scroll, Enter would press a button
  }

  stop() {
    this.#goal = null;
  }

  /** Stops listening. */
  forget() {
    this.#ends.abort();
    this.#down.clear();
    this.stop();
  }

  /** The place and direction of a body at (x, z) after so many seconds; null without a step. */
  next(x, z, seconds, topSpeed) {
    const far = Math.min(SPEED, SPEED_SHARE * topSpeed) * seconds;
    let [dx, dz] = [0, 0];
    for (const code of this.#down) [dx, dz] = [dx + WAYS[code][0], dz + WAYS[code][1]];
    if (dx || dz) return stepBy(x, z, dx, dz, far);
    const to = this.goal;
    if (!to) {
      this.stop();
      return null;
    }
    const { short, onReached } = this.#goal;
    [dx, dz] = [to.x - x, to.z - z];
    const left = Math.hypot(dx, dz) - short;
    if (left <= far) {
      this.stop();
      onReached();
    }
    return left > 0 ? stepBy(x, z, dx, dz, Math.min(left, far)) : null;
  }
}

function stepBy(x, z, dx, dz, far) {
  const share = far / Math.hypot(dx, dz);
  return { x: x + dx * share, z: z + dz * share, yaw: Math.atan2(dx, dz) };
}
