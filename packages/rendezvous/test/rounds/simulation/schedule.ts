import { nextStep } from '../../../src/rounds/next-step.ts';
import { leaseLength } from '../../../src/rounds/node-state.ts';
import { defaultRestartBackoff } from '../../../src/rounds/restart-backoff.ts';
import type { JobTerms, RootCause } from '../../../src/rounds/rendezvous-state.ts';
import { SimulatedNode } from './node.ts';
import { World } from './world.ts';

/** Milliseconds with failures, and for the job to end after them: several leases, last calls and restarts. */
const retryEveryMs = 120_000;
const calmMs = 400_000;

const timing = {
  joinTimeoutMs: 300_000,
  lastCallMs: 10_000,
  keepAliveIntervalMs: 5000,
  keepAliveMaxAttempts: 3,
  backoff: defaultRestartBackoff,
};

export interface Outcome {
  rounds: number;
  events: number;
  end: string;
}

/**
 * Runs one schedule: nodes join, leave, die or lose their client; messages are delayed, lost or duplicated; workers fail;
 * the node with the store restarts.
 *
 * @param step Decides what each node does. Default: the real `nextStep`; tests pass broken ones.
 * @throws Error if two nodes lead one round, a rank is assigned twice at one moment, or the job does not end after the
 * failures.
 */
export function runSchedule(seed: number, step: typeof nextStep = nextStep): Outcome {
  const weather = { loss: 0, duplication: 0, delayMs: 20 };
  const world = new World(seed, weather, step, retryEveryMs);
  const { random, agenda, store } = world;
  Object.assign(weather, {
    loss: random.chance(0.5) ? random.between(0, 0.2) : 0,
    duplication: random.chance(0.5) ? random.between(0, 0.3) : 0,
    delayMs: random.between(1, 80),
  });
  const terms = someTerms();
  let count = 0;
  let isCalm = false;
  let lostAt = -Infinity;
  const hasSpare = terms.backend === 'c10d' && terms.max > 1 && random.chance(0.3);
  const slots = terms.max + (hasSpare ? 1 : 0);
  const first = random.integer(1, slots);
  for (let slot = 0; slot < first; slot += 1) {
    agenda.after(random.between(0, 8000), () => {
      if (!(world.nodes[slot] as SimulatedNode | undefined)?.takesPart) start(slot);
    });
  }
  const troubles = random.integer(0, 6);
  for (let i = 0; i < troubles; i += 1) agenda.after(random.between(5000, retryEveryMs), trouble);
  agenda.after(retryEveryMs, calmDown);
  agenda.runUntil(retryEveryMs + calmMs, isOver);
  if (!isOver()) throw new Error(`the job has not ended: ${describeStandstill()}`);
  return { rounds: rounds(), events: count, end: ends().join(', ') };

  function someTerms(): JobTerms {
    const max = random.integer(1, 5);
    const backend = random.chance(0.3) ? 'static' : 'c10d';
    const min = backend === 'static' ? max : random.integer(1, max);
    return { id: 'none', backend, min, max, maxRestarts: random.integer(0, 4) };
  }

  function start(slot: number): void {
    const servesStore = slot === 0;
    if (!servesStore && mustWait()) {
      agenda.after(leaseLength(timing), () => {
        if (!jobIsOver() && !(world.nodes[slot] as SimulatedNode | undefined)?.takesPart) start(slot);
      });
      return;
    }
    if (servesStore) replaceStore();
    const info = {
      id: `${slot}.${count}`,
      host: `host${slot}`,
      pid: 10 + count,
      address: `10.0.0.${slot}`,
      processesPerNode: 1 + (slot % 2),
      nodeRank: slot,
      machine: `machine${slot}`,
      hostsStore: servesStore,
    };
    count += 1;
    world.nodes[slot] = new SimulatedNode(world, info, terms, timing, servesStore);
  }

  /** The previous state ended with the previous node that served the store. */
  function replaceStore(): void {
    const before = world.nodes[0] as SimulatedNode | undefined;
    if (!before) return;
    if (before.isAlive) before.crash();
    loseStore();
    store.restart();
  }

  /** After the loss of the store, a new spare node would take the slot of a node that still runs: see next-step.ts. */
  function mustWait(): boolean {
    return hasSpare && agenda.now - lostAt < 1.1 * leaseLength(timing);
  }

  function loseStore(): void {
    lostAt = agenda.now;
    const ignorant = world.nodes.filter((node, slot) => slot > 0 && !node.nodeState.hasJoined);
    if (hasSpare) for (const node of ignorant) node.crash();
    store.lose();
  }

  function trouble(): void {
    const slot = random.integer(0, slots - 1);
    const node = world.nodes[slot] as SimulatedNode | undefined;
    if (!node?.takesPart) {
      if (!jobIsOver()) start(slot);
      return;
    }
    const kind = random.integer(0, 4);
    if (kind === 0) crash(node, slot);
    else if (kind === 1) leave(node, slot);
    else if (kind === 2) cutOff(node);
    else if (kind === 3) node.failWorkers(failure(false));
    else
      agenda.after(random.between(0, 2000), () => {
        crash(node, slot);
      });
  }

  function crash(node: SimulatedNode, slot: number): void {
    if (!node.isAlive) return;
    node.crash();
    if (world.nodes[slot] === node && slot === 0) loseStore();
    loseAPeer();
    const comesBack = slot === 0 || random.chance(0.5);
    if (comesBack) {
      agenda.after(random.between(500, 20_000), () => {
        if (world.nodes[slot] === node && world.nodes.some(({ takesPart }) => takesPart)) start(slot);
      });
    }
  }

  /** The node with the store ends after its own part; it is restarted under the same name. */
  function leave(node: SimulatedNode, slot: number): void {
    node.leave();
    if (slot === 0)
      agenda.after(random.between(5000, 20_000), () => {
        crash(node, slot);
      });
  }

  function cutOff(node: SimulatedNode): void {
    node.isCutOff = true;
    agenda.after(random.between(1000, 30_000), () => {
      node.isCutOff = false;
    });
  }

  /** Some nodes detect it at once, some later, some never. */
  function loseAPeer(): void {
    for (const node of world.nodes.filter(Boolean)) {
      if (!random.chance(0.7)) continue;
      agenda.after(random.between(50, 5000), () => {
        node.failWorkers(failure(true));
      });
    }
  }

  function failure(follows: boolean): RootCause {
    return {
      kind: follows ? 'follows' : 'own',
      exitCode: 1,
      headline: '',
      text: '',
      startUpFingerprint: undefined,
    };
  }

  function calmDown(): void {
    isCalm = true;
    Object.assign(weather, { loss: 0, duplication: 0 });
    if (jobIsOver()) return;
    for (const node of world.nodes) if (node as SimulatedNode | undefined) node.isCutOff = false;
    for (let slot = 0; slot < terms.max; slot += 1) {
      const isNeeded = slot < terms.min || slot === 0;
      if (isNeeded && !(world.nodes[slot] as SimulatedNode | undefined)?.takesPart) start(slot);
    }
  }

  function jobIsOver(): boolean {
    return world.nodes.some((node) => node.end?.kind === 'finished' || node.end?.kind === 'failed');
  }

  function isOver(): boolean {
    return isCalm && world.nodes.every((node) => !node.takesPart);
  }

  function ends(): string[] {
    return [...new Set(world.nodes.map((node) => node.end?.kind ?? 'crashed'))];
  }

  function rounds(): number {
    return world.rounds;
  }

  function describeStandstill(): string {
    const parts = world.nodes.map(({ info, isAlive, end, nodeState }) => {
      return `${info.id} ${isAlive ? (end?.kind ?? 'waits') : 'dead'} ${nodeState.workers.kind}`;
    });
    return `${parts.join('; ')}; ${store.value}`;
  }
}
