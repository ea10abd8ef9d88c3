import type { Clock } from '../clock.ts';
import { factsOf } from './facts.ts';
import type { NodeState } from './node-state.ts';
import type { RendezvousClient } from './rendezvous-client.ts';
import type { RendezvousState } from './rendezvous-state.ts';

/** Milliseconds after which a message without an effect is sent again: it may have been lost with a connection. */
const repeatAfterMs = 5000;

/** A node that does not serve the store: sends its facts to the leader, and reads its parts of the state. */
export class Follower {
  readonly #id: string;
  readonly #clock: Clock;
  #serial = 0;
  #messages = 0;
  #isPosting = false;
  #posted: { text: string; at: number } | undefined;

  constructor(id: string, clock: Clock) {
    this.#id = id;
    this.#clock = clock;
  }

  /** The next part of the state. Undefined if there is none for a second, or longer if the job has very many nodes. */
  async read(client: RendezvousClient, nodes: number): Promise<RendezvousState | undefined> {
    const newest = await client.readPart(this.#id, this.#serial + 1, nodes);
    this.#serial = newest?.serial ?? this.#serial;
    return newest?.state;
  }

  /**
   * Sends the facts to the leader. Resolves with false if they are sent already, and need not be repeated yet.
   *
   * @param again Whether to repeat them now.
   */
  async post(
    client: RendezvousClient,
    nodeState: NodeState,
    state: RendezvousState | undefined,
    again: boolean,
  ): Promise<boolean> {
    const now = this.#clock.now();
    const facts = factsOf(nodeState, state, now);
    const text = JSON.stringify({ ...facts, joiningMs: 0, serial: this.#serial });
    const isKnown = this.#posted?.text === text && now - this.#posted.at < repeatAfterMs;
    if ((isKnown && !again) || this.#isPosting) return false;
    this.#isPosting = true;
    try {
      this.#messages += 1;
      await client.post({ ...facts, message: this.#messages, serial: this.#serial });
      this.#posted = { text, at: now };
      return true;
    } finally {
      this.#isPosting = false;
    }
  }
}
