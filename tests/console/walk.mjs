// Steps of the play page without a page: each goal is walked to from (0, 0), one frame after the other.
//
//     node walk.mjs walk.js  →  one JSON object: for each case where it ended, whether it was reached, and after how long

import { pathToFileURL } from "node:url";

const { Steps } = await import(pathToFileURL(process.argv[2]).href);
const FRAME_S = 0.05;
const TOP_SPEED = 20;
const FRAMES_MAX = 200;

/** `where(seconds)` gives the goal at a time. */
function play(where, short) {
  const steps = new Steps(null);
  let [x, z, frames, isReached] = [0, 0, 0, false];
  steps.aim(() => where(frames * FRAME_S), short, () => (isReached = true));
  while (steps.goal && frames < FRAMES_MAX) {
    const step = steps.next(x, z, FRAME_S, TOP_SPEED);
    if (step) ({ x, z } = step);
    frames += 1;
  }
  return { x, z, isReached, isOver: steps.next(x, z, FRAME_S, TOP_SPEED) === null, seconds: frames * FRAME_S };
}

console.log(JSON.stringify({
  place: play(() => ({ x: 6, z: 8 }), 0),
  friend: play(() => ({ x: 6, z: 8 }), 2),
  walker: play((seconds) => ({ x: 10 + 3 * seconds, z: 0 }), 3),
  gone: play((seconds) => (seconds < 0.5 ? { x: 20, z: 0 } : null), 3),
  near: play(() => ({ x: 1, z: 0 }), 2),
}));
