import { PeerDiedError } from '@ringrun/core';
import { Agreement } from '../../src/recovery/agreement.ts';
import type { Formation, Process } from '../../src/recovery/decide.ts';
import { RecoveryKeys } from '../../src/recovery/recovery-keys.ts';
import { SignsOfLife } from '../../src/recovery/signs-of-life.ts';
import { SimulatedTime, clockOf } from '../rounds/simulation/time.ts';
import { SimulatedClient } from './client.ts';
import type { Cost } from './scenarios.ts';
import { dataCenter, SimulatedServer } from './server.ts';

/** Milliseconds from the death to the error of the other ranks. */
const noticedWithinMs = 500;

/**
 * One rank of a fault-tolerant job dies: the time until the others have agreed on the next group, with the real `Agreement`. The
 * connections of that group are not simulated.
 */
export async function agreement({ seed, nodes }: { seed: number; nodes: number }): Promise<Cost> {
  const time = new SimulatedTime(seed);
  const server = new SimulatedServer(time, dataCenter, 'store'.padEnd(36, '0'));
  const members = Array.from({ length: nodes }, (_, rank) => processOf(rank));
  const current = { generation: 0, members };
  const dead = members[nodes - 1];
  const failure = new PeerDiedError([dead], 'allReduce #41', 'died');
  const formations: Formation[] = [];
  let error: Error | undefined;
  const survive = async (own: Process): Promise<Formation> => {
    const clock = clockOf(time, () => true);
    const client = new SimulatedClient(server, { clock, runs: () => true, lagMs: 0 }, own.token, 600_000);
    const keys = new RecoveryKeys(client, 'job'.padEnd(36, '0'));
    const signs = new SignsOfLife(keys, own, clock, () => Promise.resolve());
    const agreement = new Agreement(own, keys, signs, { minRanks: 1, timeoutMs: 600_000, clock });
    await clock.delay(time.random.between(0.1, 1) * noticedWithinMs);
    await agreement.leave(current, failure, { committed: 41, next: 'incomplete', isStep: true });
    const formation = await agreement.agree(current);
    await agreement.recordRemoved(members, formation.members);
    return formation;
  };
  for (const own of members.slice(0, -1)) {
    survive(own).then(
      (formation) => formations.push(formation),
      (reason: unknown) => (error ??= reason as Error),
    );
  }
  await time.run(600_000, () => error !== undefined || formations.length === nodes - 1);
  if (error !== undefined) throw error;
  const sizes = new Set(formations.map((formation) => formation.members.length));
  if (formations.length !== nodes - 1 || sizes.size !== 1 || !sizes.has(nodes - 1)) {
    throw new Error(`${formations.length} of ${nodes - 1} ranks agreed on groups of ${[...sizes].join()}`);
  }
  const { messages, bytes } = server.traffic;
  return { ms: time.now, messages: messages / nodes, bytes: bytes / nodes };
}

function processOf(rank: number): Process {
  const token = `process-${String(rank).padStart(5, '0')}`.padEnd(36, '0');
  return { token, rank, host: `node${rank >> 3}`, pid: 1000 + rank, space: '' };
}
