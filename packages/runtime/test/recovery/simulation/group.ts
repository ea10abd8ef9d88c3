import { CollectiveTimeoutError, PeerDiedError, RingrunError } from '@ringrun/core';
import type { CollectiveBuffer, ProcessGroup, RankIdentity } from '@ringrun/core';
import type { SimulatedProcess } from './process.ts';
import type { SimulatedTime } from '../../../../rendezvous/test/rounds/simulation/time.ts';

/** Milliseconds of a collective, of a message and until a death is detected, on average. */
const [collectiveMs, messageMs, detectionMs] = [2, 1, 4];

/** A collective, by its number in the group. */
interface Collective {
  readonly inputs: Map<
    number,
    { value: number; resolve: (result: number) => void; reject: (e: Error) => void }
  >;
  isComplete: boolean;
}

/** The connections of the ranks of one group. A collective completes on a rank after all have begun it. */
export class SimulatedGroup {
  readonly members: readonly SimulatedProcess[];
  readonly #time: SimulatedTime;
  readonly #timeoutMs: number;
  readonly #collectives: Collective[] = [];
  readonly #left = new Set<number>();
  readonly #messages = new Map<string, CollectiveBuffer[]>();

  constructor(time: SimulatedTime, members: readonly SimulatedProcess[], timeoutMs: number) {
    this.#time = time;
    this.members = members;
    this.#timeoutMs = timeoutMs;
    for (const [rank, member] of members.entries())
      member.onDeath(() => {
        this.#lose(rank);
      });
  }

  /** The group as rank `rank` sees it: the part of it that a recovery uses. */
  at(rank: number): ProcessGroup {
    let count = 0;
    let failure: Error | undefined;
    let last: Promise<unknown> = Promise.resolve();
    /** A rank takes part in a collective when its earlier ones have completed. */
    const next = (value: number) => {
      const turn = last.then(async () => {
        if (failure !== undefined) throw failure;
        return await this.#enter(rank, count++, value);
      });
      last = turn.catch((error: unknown) => {
        failure ??= error as Error;
      });
      return turn;
    };
    const group = {
      rank,
      size: this.members.length,
      backend: 'gloo',
      transport: 'tcp',
      allocateSync: (_: string, length: number) => new Float32Array(length),
      allReduce: async (values: Float32Array) => {
        values[0] = await next(values[0]);
      },
      barrier: () => next(0),
      send: (values: CollectiveBuffer, to: number) => this.#send(values, rank, to),
      recv: (values: CollectiveBuffer, { src }: { src: number }) => this.#receive(values, src, rank),
      destroy: async () => {
        // The farewell of a whole group is a collective; a broken group is left at once.
        const isWhole = failure === undefined && this.#left.size === 0;
        const farewell = isWhole ? next(0) : Promise.resolve(0);
        try {
          await farewell;
        } finally {
          failure ??= new RingrunError('ERR_GROUP_CLOSED', 'the group was destroyed');
          this.#left.add(rank);
          this.#time.about(detectionMs, () => {
            this.#breakFor(rank);
          });
        }
      },
    };
    return group as unknown as ProcessGroup;
  }

  #enter(rank: number, number: number, value: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const self = this.members[rank];
      const collective = (this.#collectives[number] ??= { inputs: new Map(), isComplete: false });
      this.#time.about(collectiveMs, () => {
        if (!self.runs) return;
        collective.inputs.set(rank, { value, resolve, reject });
        const absent = this.#gone();
        if (collective.inputs.size === this.members.length) this.#complete(collective);
        else if (absent.length > 0) this.#failLater(collective, rank, absent);
        else this.#expire(collective, rank);
      });
    });
  }

  #complete(collective: Collective): void {
    collective.isComplete = true;
    const result = Math.max(...Array.from(collective.inputs.values(), ({ value }) => value));
    for (const [rank, { resolve, reject }] of collective.inputs) {
      this.#time.about(collectiveMs, () => {
        if (!this.members[rank].runs) return;
        // A death at this moment may interrupt the last message to a rank, not the one to another.
        const dead = this.#gone();
        if (dead.length > 0 && this.#time.random.chance(0.5)) reject(this.#died(dead));
        else resolve(result);
      });
    }
  }

  #failLater({ inputs }: Collective, rank: number, absent: readonly number[]): void {
    this.#time.about(detectionMs, () => {
      if (this.members[rank].runs) inputs.get(rank)!.reject(this.#died(absent));
    });
  }

  #expire(collective: Collective, rank: number): void {
    this.#time.agenda.after(this.#timeoutMs, () => {
      const { inputs, isComplete } = collective;
      if (isComplete || !this.members[rank].runs) return;
      const missing = this.members.flatMap((member, i) => (inputs.has(i) ? [] : [identityOf(i, member)]));
      inputs.get(rank)!.reject(new CollectiveTimeoutError(missing, 'a collective', 'timeout'));
    });
  }

  /** A member has died or left: collectives that wait for it fail. */
  #lose(rank: number): void {
    this.#time.about(detectionMs, () => {
      this.#breakFor(rank);
    });
  }

  #breakFor(rank: number): void {
    for (const { inputs, isComplete } of this.#collectives) {
      if (isComplete || inputs.has(rank)) continue;
      for (const [other, { reject }] of inputs) if (this.members[other].runs) reject(this.#died([rank]));
    }
  }

  #gone(): number[] {
    return this.members.flatMap((member, i) => (member.isAlive && !this.#left.has(i) ? [] : [i]));
  }

  #died(ranks: readonly number[]): PeerDiedError {
    const [first, ...others] = ranks.map((rank) => identityOf(rank, this.members[rank]));
    return new PeerDiedError([first, ...others], 'a collective', `rank ${first.rank} is gone`);
  }

  #send(values: CollectiveBuffer, from: number, to: number): Promise<void> {
    const queue = this.#queue(from, to);
    queue.push(structuredClone<CollectiveBuffer>(values));
    return Promise.resolve();
  }

  async #receive(values: CollectiveBuffer, from: number, to: number): Promise<void> {
    const queue = this.#queue(from, to);
    for (const began = this.#time.now; queue.length === 0;) {
      await new Promise<void>((resolve) => {
        this.#time.about(messageMs, resolve);
      });
      if (!this.members[from].isAlive || this.#left.has(from)) throw this.#died([from]);
      if (this.#time.now - began > this.#timeoutMs) {
        const missing = [identityOf(from, this.members[from])];
        throw new CollectiveTimeoutError(missing, 'recv', 'timeout');
      }
    }
    (values as Uint8Array).set(queue.shift() as Uint8Array);
  }

  #queue(from: number, to: number): CollectiveBuffer[] {
    const key = `${from} ${to}`;
    const queue = this.#messages.get(key) ?? [];
    this.#messages.set(key, queue);
    return queue;
  }
}

function identityOf(rank: number, { pid }: SimulatedProcess): RankIdentity {
  return { rank, host: 'host', pid };
}
