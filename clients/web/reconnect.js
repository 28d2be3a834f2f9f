// The pauses of a client that lost its connection: when it tries to resume, and when it gives up. `client/pauses.py` has
// the same numbers.
//
// The first attempt comes soon, since most losses are short. The pauses double from `first` to `most`, and each has a
// random part, so that the clients of a server that was out of reach do not all come at the same moment.

const PAUSE_MS = { first: 250, most: 4000 };

export class Pauses {
  tries = 0; // attempts so far
  #random;
  #until;

  /** `random(size)` returns random bytes. */
  constructor(random, now, withinMs) {
    this.#random = random;
    this.#until = now + withinMs;
  }

  /** The milliseconds until the next attempt; null if that would be too late. */
  next(now) {
    const most = Math.min(PAUSE_MS.first * 2 ** this.tries, PAUSE_MS.most);
    const ms = most * (0.5 + this.#random(1)[0] / 510);
    this.tries += 1;
    return now + ms < this.#until ? ms : null;
  }
}
