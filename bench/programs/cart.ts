/** A cart on a line, which an agent pushes left (0) or right (1) to keep it at 0. Its counterpart is cart.py. */
export class Cart {
  #place = 0;
  #speed = 0;

  /** Starts an episode at a place between -1 and 1. */
  reset(place: number): [number, number] {
    this.#place = place;
    this.#speed = 0;
    return [place, 0];
  }

  /** Returns the next state and the reward. */
  step(action: number): [state: [number, number], reward: number] {
    this.#speed = 0.8 * this.#speed + 0.1 * (2 * action - 1);
    this.#place += this.#speed;
    return [[this.#place, this.#speed], -Math.abs(this.#place)];
  }
}
