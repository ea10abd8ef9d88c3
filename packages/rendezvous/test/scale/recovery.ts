import { createHash } from 'node:crypto';
import { isSameList, PeerDiedError } from '@ringrun/core';
import { exchangeRankInfos } from '../../../collectives/src/cpu/rank-info.ts';
import type { RankInfo } from '../../../collectives/src/cpu/rank-info.ts';
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

/** Milliseconds after its first call at which a rank has begun to decide, and cannot have all reports. */
const decidesAfterMs = 20;

interface Settings {
  readonly seed: number;
  /** Number of ranks. */
  readonly nodes: number;
}

/**
 * One rank of a fault-tolerant job dies: the time until the others have agreed on the next group, with the real `Agreement`. The
 * connections of that group are not simulated.
 */
export async function agreement(settings: Settings): Promise<Cost> {
  return await agree(settings, () => true);
}

/** As `agreement`, while the rank that decides is stopped. */
export async function agreementWithoutDecider(settings: Settings): Promise<Cost> {
  return await agree(settings, (rank, sinceMs) => rank !== 0 || sinceMs < decidesAfterMs);
}

/** The rank infos that the ranks of a new group exchange: the time until each has those of all others. */
export async function rankInfos({ seed, nodes }: Settings): Promise<Cost> {
  const time = new SimulatedTime(seed);
  const server = new SimulatedServer(time, dataCenter, 'store'.padEnd(36, '0'));
  const clock = clockOf(time, () => true);
  const key = new Uint8Array(32);
  let ready = 0;
  let error: Error | undefined;
  for (let rank = 0; rank < nodes; rank += 1) {
    const name = processOf(rank).token;
    const client = new SimulatedClient(server, { clock, runs: () => true, lagMs: 0 }, name, 600_000);
    exchangeRankInfos(client, rankInfoOfSize(rank, nodes), key, 600_000).then(
      () => (ready += 1),
      (reason: unknown) => (error ??= reason as Error),
    );
  }
  await time.run(600_000, () => error !== undefined || ready === nodes);
  if (error !== undefined) throw error;
  const { messages, bytes } = server.traffic;
  return { ms: time.now, messages: messages / nodes, bytes: bytes / nodes };
}

/** @param runs Whether a rank still runs, so many milliseconds after it has left the group. */
async function agree(
  { seed, nodes }: Settings,
  runs: (rank: number, sinceMs: number) => boolean,
): Promise<Cost> {
  const time = new SimulatedTime(seed);
  const server = new SimulatedServer(time, dataCenter, 'store'.padEnd(36, '0'));
  const members = Array.from({ length: nodes }, (_, rank) => processOf(rank));
  const current = { generation: 0, members };
  const dead = members[nodes - 1];
  const failure = new PeerDiedError([dead], 'allReduce #41', 'died');
  const formations: Formation[] = [];
  let error: Error | undefined;
  const survive = async (own: Process): Promise<Formation> => {
    // Rank 0 is the first one that leaves, and so the one that decides.
    const leavesAt = (own.rank === 0 ? 0.05 : time.random.between(0.1, 1)) * noticedWithinMs;
    const isRunning = () => runs(own.rank, time.now - leavesAt);
    const clock = clockOf(time, isRunning);
    const client = new SimulatedClient(server, { clock, runs: isRunning, lagMs: 0 }, own.token, 600_000);
    const keys = new RecoveryKeys(client, 'job'.padEnd(36, '0'));
    const signs = new SignsOfLife(keys, own, clock, () => Promise.resolve(), nodes);
    const agreement = new Agreement(own, keys, signs, { minRanks: 1, timeoutMs: 600_000, clock });
    await clock.delay(leavesAt);
    await agreement.leave(current, failure, { committed: 41, next: 'incomplete', isStep: true });
    const formation = await agreement.agree(current);
    return formation;
  };
  for (const own of members.slice(0, -1)) {
    survive(own).then(
      (formation) => formations.push(formation),
      (reason: unknown) => (error ??= reason as Error),
    );
  }
  const deciding = Number(runs(0, Infinity));
  const expected = nodes - 2 + deciding;
  await time.run(600_000, () => error !== undefined || formations.length === expected);
  if (error !== undefined) throw error;
  const [first, ...others] = formations.map((one) => one.members.map(({ token }) => token));
  if (
    formations.length !== expected ||
    first.length !== nodes - 1 ||
    !others.every((one) => isSameList(one, first))
  )
    throw new Error(`${formations.length} of ${expected} ranks agreed on different groups`);
  const { messages, bytes } = server.traffic;
  return { ms: time.now, messages: messages / nodes, bytes: bytes / nodes };
}

/** With the bytes of a real one, which compression does not make shorter than those. */
function rankInfoOfSize(rank: number, size: number): RankInfo {
  const [node, own] = [`node${rank >> 3}`, randomText(`rank ${rank}`)];
  return {
    ...{ protocol: 9, rank, size, host: node, pid: 1000 + rank, hostId: randomText(node).slice(0, 50) },
    ...{ requested: null, algorithm: '', sharedMemoryProblem: '', socketName: `ringrun-${own.slice(32)}` },
    ...{
      address: `10.0.${rank >> 11}.${(rank >> 3) & 255}`,
      port: 30_000 + ((7919 * rank) % 30_000),
      relayPort: 30_000 + ((7907 * rank) % 30_000),
      token: own.slice(0, 32),
      encrypt: true,
      links: '',
    },
  };
}

/** Hexadecimal digits, the same for the same seed. */
function randomText(seed: string): string {
  return createHash('sha256').update(seed).digest('hex');
}

function processOf(rank: number): Process {
  const token = `process-${String(rank).padStart(5, '0')}`.padEnd(36, '0');
  return { token, rank, host: `node${rank >> 3}`, pid: 1000 + rank, space: '' };
}
