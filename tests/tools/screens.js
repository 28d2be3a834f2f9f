// What screens.py puts behind play.js in both pages: times of keys here, and of the moves that a page shows.
//
// Times are milliseconds of the wall clock. A page's own clock is finer than Date.now() and starts with the page, so the
// offset between the two is measured once.

let offset = -Infinity;
for (let each = 0; each < 20000; each += 1) offset = Math.max(offset, Date.now() - performance.now());
const clock = () => performance.now() + offset;

const keys = []; // when a key went down
const seen = []; // {at, shown}: when a move of the watched body came, and when a frame first showed it elsewhere
let waiting = null;

addEventListener("keydown", (event) => !event.repeat && keys.push(clock()), { capture: true });

/** From now on, the first move of the body after each `arm()` is noted. */
function watch(id) {
  const { glide } = game.bodies.get(id);
  const { aim } = Object.getPrototypeOf(glide);
  glide.aim = (values, now, during) => {
    const isElsewhere = Math.hypot(values[0] - glide.to[0], values[1] - glide.to[1]) > 0.01;
    if (isElsewhere && waiting && waiting.at === null) waiting.at = clock();
    aim.call(glide, values, now, during);
  };
  const look = () => {
    requestAnimationFrame(look);
    if (!waiting || waiting.at === null) return;
    const [x, z] = glide.at(performance.now());
    if (Math.hypot(x - waiting.from[0], z - waiting.from[1]) < 0.01) return;
    seen.push({ at: waiting.at, shown: clock() });
    waiting = null;
  };
  requestAnimationFrame(look);
}

/** The body stands; its next move is noted. */
function arm(id) {
  waiting = { at: null, from: game.bodies.get(id).glide.at(performance.now()) };
}

/** The number of its moves since the last call tells whether a body stands. */
function placeOf(id) {
  return game.bodies.get(id)?.glide.to ?? null;
}

const findId = (name) => [...game.bodies].find(([, { entity }]) => entity.properties.name === name)?.[0] ?? null;

window.screens = { keys, seen, watch, arm, placeOf, findId };
