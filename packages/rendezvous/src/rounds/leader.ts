import type { Clock } from '../clock.ts';
import { Coordinator } from './coordinator.ts';
import type { NodeFacts } from './facts.ts';
import { Inbox } from './inbox.ts';
import { forgetNodes, noLiveness, silentNodes, updateLiveness } from './lease.ts';
import type { Liveness } from './lease.ts';
import { leaseLength } from './node-state.ts';
import type { NodeState, Timing } from './node-state.ts';
import type { RendezvousClient } from './rendezvous-client.ts';
import type { RendezvousState } from './rendezvous-state.ts';
import type { Clock as Reading } from './step.ts';

/** Milliseconds between two attempts of a call that the store does not answer. */
const retryEveryMs = 100;

/** The node that serves the store: collects the messages of all others, and publishes the parts of its state. */
export class Leader {
  readonly #own: string;
  readonly #clock: Clock;
  readonly #over: AbortSignal;
  readonly #coordinator = new Coordinator();
  readonly #inbox: Inbox;
  #liveness: Liveness = noLiveness;
  #announced: string | undefined;
  #newest: { state: RendezvousState; client: () => RendezvousClient | undefined } | undefined;
  #isPublishing = false;

  constructor(own: string, clock: Clock, over: AbortSignal) {
    this.#own = own;
    this.#clock = clock;
    this.#inbox = new Inbox(clock);
    this.#over = over;
  }

  /** The next messages. Waits for the first one, at most a second. */
  async collect(client: RendezvousClient): Promise<readonly NodeFacts[]> {
    return await this.#inbox.collect(client);
  }

  /** The state after the steps of other nodes with these facts. */
  take(
    state: RendezvousState,
    all: readonly NodeFacts[],
    nodeState: NodeState,
    clock: Reading,
  ): RendezvousState {
    return all.reduce((next, facts) => this.#coordinator.take(next, facts, nodeState, clock), state);
  }

  /** The nodes without heartbeats for a lease. Deletes the keys of those that are no longer in the state. */
  async silentNodes(
    client: RendezvousClient,
    state: RendezvousState,
    timing: Timing,
  ): Promise<ReadonlySet<string>> {
    const nodes = [...state.participants.map(({ node }) => node), ...state.waitList];
    const departed = this.#coordinator.departed(state);
    const counts = await client.readHeartbeats([...nodes.map(({ id }) => id), ...departed]);
    this.#liveness = updateLiveness(this.#liveness, counts, this.#clock.now(), timing.keepAliveIntervalMs);
    const silent = silentNodes(this.#liveness, leaseLength(timing));
    for (const id of departed.filter((one) => silent.has(one))) {
      this.#coordinator.forget(id);
      await client.forgetNode(id);
    }
    return silent;
  }

  /** Forgets the silence of nodes that have joined again. */
  forget(joined: ReadonlySet<string>): void {
    this.#liveness = forgetNodes(this.#liveness, joined);
  }

  /** Publishes a state soon, unless a newer one follows before. */
  publish(state: RendezvousState, client: () => RendezvousClient | undefined): void {
    this.#newest = { state, client };
    if (!this.#isPublishing) void this.#publishNewest();
  }

  async #publishNewest(): Promise<void> {
    this.#isPublishing = true;
    // The steps that follow at once from one another are published together.
    await Promise.resolve();
    while (this.#newest && !this.#over.aborted) {
      const { state, client } = this.#newest;
      this.#newest = undefined;
      const deliveries = this.#coordinator.deliveries(state, this.#own);
      await this.#untilSent(client, async (to) => {
        if (this.#announced !== state.incarnation) await to.writeIncarnation(state.incarnation);
        this.#announced = state.incarnation;
        await to.writeParts(deliveries);
      });
    }
    this.#isPublishing = false;
  }

  async #untilSent(
    client: () => RendezvousClient | undefined,
    send: (to: RendezvousClient) => Promise<void>,
  ): Promise<void> {
    while (!this.#over.aborted) {
      const to = client();
      try {
        if (to) {
          await send(to);
          return;
        }
      } catch {
        // The loop that collects messages meets and handles the same error.
      }
      await this.#clock.delay(retryEveryMs, this.#over).catch(() => undefined);
    }
  }
}
