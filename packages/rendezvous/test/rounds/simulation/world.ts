import type { nextStep } from '../../../src/rounds/next-step.ts';
import type { Round } from '../../../src/rounds/round.ts';
import { Agenda } from './agenda.ts';
import type { SimulatedNode } from './node.ts';
import { Random } from './random.ts';
import { SimulatedStore } from './store.ts';
import type { Weather } from './store.ts';

/** Minimum milliseconds that the workers of a round run, from the start of the last node. */
const workMs = 5000;

/** The nodes, network and store of one schedule. */
export class World {
  readonly agenda = new Agenda();
  readonly random: Random;
  readonly store: SimulatedStore;
  readonly ranks = new RanksHeld();
  readonly nextStep: typeof nextStep;
  readonly nodes: SimulatedNode[] = [];
  rounds = 0;
  readonly #workUntil: number;
  readonly #leaders = new Map<string, string>();
  readonly #started = new Map<string, SimulatedNode[]>();

  constructor(seed: number, weather: Weather, step: typeof nextStep, workUntil: number) {
    this.#workUntil = workUntil;
    this.random = new Random(seed);
    this.store = new SimulatedStore(this.agenda, this.random, weather);
    this.nextStep = step;
  }

  /** Called when a node starts the workers of a round. Throws if that violates an invariant. */
  onStart(node: SimulatedNode, incarnation: string, round: Round, ranks: readonly number[]): void {
    const { id } = node.info;
    const number = round.restartCount + 1;
    const key = `${incarnation} round ${number}`;
    if (round.groupRank === 0) {
      const leader = this.#leaders.get(key);
      if (leader !== undefined && leader !== id)
        throw new Error(`${key} has two leaders: ${leader} and ${id}`);
      this.#leaders.set(key, id);
    }
    for (const rank of ranks) this.ranks.take(rank, id);
    const started = [...(this.#started.get(key) ?? []), node];
    this.#started.set(key, started);
    if (started.length > round.groupWorldSize)
      throw new Error(`${key} was started by ${started.length} nodes`);
    if (started.length === round.groupWorldSize) {
      this.rounds += 1;
      this.agenda.after(this.#workLeft(), () => {
        const isWhole = started.every((other) => other.isAlive && other.nodeState.workers.kind === 'running');
        if (isWhole) for (const other of started) other.finishWorkers(incarnation, number);
      });
    }
  }

  /** Some jobs are short; most run until the failures are over. */
  #workLeft(): number {
    return this.random.chance(0.1) ? workMs : Math.max(workMs, this.#workUntil - this.agenda.now + workMs);
  }
}

/** The holders of each rank at this moment, in any round. */
export class RanksHeld {
  readonly #holders = new Map<number, string>();

  take(rank: number, id: string): void {
    const holder = this.#holders.get(rank);
    if (holder !== undefined) throw new Error(`rank ${rank} was given to ${id} while ${holder} has it`);
    this.#holders.set(rank, id);
  }

  release(id: string): void {
    for (const [rank, holder] of this.#holders) if (holder === id) this.#holders.delete(rank);
  }
}
