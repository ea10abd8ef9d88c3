import { isOutOfDate, nodeStateOf } from './facts.ts';
import type { NodeFacts } from './facts.ts';
import { ownStep, stepForAll } from './next-step.ts';
import type { NodeState } from './node-state.ts';
import { concerns, nodesWithPart, partOf, partsOf } from './part.ts';
import type { Parts } from './part.ts';
import { endForNewcomer } from './phases/run.ts';
import { beginRound } from './phases/wait-for-peers.ts';
import type { NodeEnd, RendezvousState } from './rendezvous-state.ts';
import type { Clock, Step } from './step.ts';

/** Steps for one message: a node reports the end of its workers and leaves, for example. */
const maxSteps = 8;

/** A new part of the state for a node. */
export interface Delivery {
  readonly id: string;
  readonly serial: number;
  readonly state: RendezvousState;
}

/** The last part that a node reads, and the state of which it is. */
interface Delivered {
  readonly state: RendezvousState;
  readonly whole: RendezvousState;
}

/**
 * The part of the rendezvous that only the node with the store has: takes the steps of all other nodes, and determines which of
 * them must read a new part of the state. Without I/O.
 */
export class Coordinator {
  readonly #delivered = new Map<string, Delivered>();
  readonly #ends = new Map<string, NodeEnd>();
  /** Serial numbers of nodes with keys. They continue after a node has left the state, because it may join again. */
  readonly #serials = new Map<string, number>();

  /** Number of the last message of each node: a slow one may arrive after a newer one. */
  readonly #messages = new Map<string, number>();

  /** Takes the step of a node with these facts. Returns the new state. */
  take(state: RendezvousState, facts: NodeFacts, own: NodeState, clock: Clock): RendezvousState {
    const { id } = facts.node;
    if (facts.message <= (this.#messages.get(id) ?? 0)) return state;
    this.#messages.set(id, facts.message);
    if (!this.#serials.has(id)) this.#serials.set(id, facts.serial);
    if (isOutOfDate(facts, state)) {
      // The node reads its newest part, and then repeats what it has to tell.
      this.#delivered.delete(id);
      return state;
    }
    const nodeState = nodeStateOf(facts, own, clock.now);
    let next = state;
    for (let count = 0; count < maxSteps; count += 1) {
      // The store ends when every node has left: each must have read the verdict before.
      if (next.phase === 'closed' && facts.hasJoined && !facts.hasReadVerdict) break;
      const step = ownStep(next, nodeState, clock);
      if (step.kind === 'end') this.#ends.set(id, step.end);
      if (step.kind !== 'write') break;
      next = step.state;
      if (!step.end) continue;
      this.#ends.set(id, step.end);
      break;
    }
    return next;
  }

  /** The nodes that have left the state, whose keys have not been deleted. */
  departed(state: RendezvousState): string[] {
    const present = new Set(nodesWithPart(state));
    return [...this.#serials.keys()].filter((id) => !present.has(id));
  }

  /** The keys of a node are deleted. If it returns, it tells the serial number that it expects. */
  forget(id: string): void {
    this.#serials.delete(id);
  }

  /** The parts that nodes other than `own` must read now. */
  deliveries(state: RendezvousState, own: string): Delivery[] {
    const parts = partsOf(state);
    const here = nodesWithPart(state);
    const isLike = unchangedIn(parts);
    const found: Delivery[] = [];
    for (const id of new Set([...here, ...this.#ends.keys(), ...this.#delivered.keys()])) {
      const last = this.#delivered.get(id);
      const end = this.#ends.get(id);
      if (id === own || (last && !end && isLike(id, last))) continue;
      const part = partOf(parts, id, end);
      if (!concerns(last?.state, part, parts.isSmall)) continue;
      const serial = (this.#serials.get(id) ?? 0) + 1;
      this.#serials.set(id, serial);
      this.#delivered.set(id, { state: part, whole: state });
      found.push({ id, serial, state: part });
    }
    // A node that is not in the state any more reads so once.
    const present = new Set(here);
    for (const id of this.#delivered.keys()) if (!present.has(id)) this.#delivered.delete(id);
    this.#ends.clear();
    return found;
  }
}

/**
 * The step of the node that serves the store for all nodes, whether it takes part itself or not. Undefined for another node.
 */
export function coordinate(state: RendezvousState, nodeState: NodeState, clock: Clock): Step | undefined {
  if (state.part) return undefined;
  return (
    stepForAll(state, nodeState, clock) ?? endForNewcomer(state, clock) ?? beginRound(state, nodeState, clock)
  );
}

/** Whether a part is certainly as it was: comparing all parts of a large job for each message would take N² steps. */
function unchangedIn({ state, isSmall, ranks, waiting }: Parts): (id: string, last: Delivered) => boolean {
  return (id, { state: last, whole }) => {
    const rank = ranks.get(id);
    if (isSmall || rank === undefined || waiting.has(id)) return false;
    const hasSameRank = state.phase === 'joining' || last.part!.groupRank === rank;
    return (
      hasSameRank &&
      state.participants[rank] === last.participants[0] &&
      state.phase === whole.phase &&
      state.round === whole.round &&
      state.master === whole.master &&
      (state.terms.backend === 'c10d' || state.waitList.length + whole.waitList.length === 0) &&
      state.refused.length + whole.refused.length === 0
    );
  };
}
