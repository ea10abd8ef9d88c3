// On the helper thread of a worker in a job of several nodes: asks the launchers of the other nodes.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { PrefixStore, connectStore, deletePrefix, parseEndpoint } from '@ringrun/rendezvous';
import { parseName, parseStates } from './node-states.ts';
import type { NodeName, NodeStates } from './node-states.ts';
import type { RankState } from './rank-state.ts';
import {
  answerKey,
  maxRequests,
  nodeKey,
  parseRequest,
  reportKey,
  requestKey,
  storeOfStacks,
} from './request-keys.ts';
import type { StackRequest } from './request-keys.ts';

/** Milliseconds to connect, for the launchers to answer, and for ranks of other nodes to wait for the report. */
const connectMs = 1500;
const answersMs = 3000;
const reportMs = 4000;

/** The position of this process in the job. */
export interface JobPlace {
  store: string;
  restartCount: number;
  groupRank: number;
  nodes: number;
}

/** The variables of the launcher; undefined for a job of one node. */
export function jobPlace(env: NodeJS.ProcessEnv): JobPlace | undefined {
  const nodes = Number(env['GROUP_WORLD_SIZE'] ?? 1);
  const store = env['RINGRUN_STORE'];
  if (!(nodes > 1) || store === undefined) return undefined;
  const { GROUP_RANK: groupRank = 0, RINGRUN_RESTART_COUNT: restartCount = 0 } = env;
  return { store, restartCount: Number(restartCount), groupRank: Number(groupRank), nodes };
}

/**
 * Connects to the job's store.
 *
 * @throws RingrunError if the store does not answer in time
 */
export function connectToJob({ store }: JobPlace): Promise<Store> {
  const at = parseEndpoint(store, 'RINGRUN_STORE');
  return connectStore({ ...at, timeoutMs: connectMs, callTimeoutMs: reportMs, log: () => undefined });
}

/**
 * The report of the whole job. The first process of the job that asks for the timeout `id` collects and composes it,
 * the others read it. It stays in the store until a restart.
 *
 * @param own The ranks on this host.
 * @param store The job's store.
 * @throws RingrunError if the store does not answer in time
 */
export async function reportOfJob(
  place: JobPlace,
  id: string,
  own: Promise<RankState[]>,
  compose: (nodes: readonly NodeStates[]) => string,
  store: Store,
): Promise<string> {
  const startedAt = performance.now();
  const left = (limitMs: number) => Math.max(0, limitMs - (performance.now() - startedAt));
  const keys = new PrefixStore(storeOfStacks(place.restartCount), store);
  const { number, isOwn } = await request(keys, { id, from: place.groupRank, token: randomUUID() });
  if (!isOwn) {
    const report = await keys.get(reportKey(number), { timeoutMs: left(reportMs) });
    return Buffer.from(report).toString();
  }
  const others = Array.from({ length: place.nodes }, (_, groupRank) => groupRank)
    .filter((groupRank) => groupRank !== place.groupRank)
    .map((groupRank) => readNode(keys, number, groupRank, () => left(answersMs)));
  const here = own.then((states) => ({ groupRank: place.groupRank, name: nameHere(states), states }));
  const nodes = await Promise.all([here, ...others]);
  const report = compose(nodes.toSorted((a, b) => a.groupRank - b.groupRank));
  await keys.set(reportKey(number), report);
  await deletePrefix(keys, answerKey(number, ''));
  return report;
}

/** Writes the request, unless another process has written one for the same timeout. */
async function request(keys: Store, own: StackRequest): Promise<{ number: number; isOwn: boolean }> {
  for (let number = 0; number < maxRequests; number += 1) {
    const there = parseRequest(await keys.compareSet(requestKey(number), '', JSON.stringify(own)));
    if (there?.id === own.id) return { number, isOwn: there.token === own.token };
  }
  throw new RingrunError(
    'ERR_STORE_LIMIT',
    `ranks have reported ${maxRequests} timeouts since they were started`,
  );
}

async function readNode(
  keys: Store,
  number: number,
  groupRank: number,
  leftMs: () => number,
): Promise<NodeStates> {
  const answer = await valueOf(keys, answerKey(number, groupRank), leftMs());
  const name = await valueOf(keys, nodeKey(groupRank), 0);
  return { groupRank, name: name && parseName(name), states: answer && parseStates(answer) };
}

async function valueOf(keys: Store, key: string, timeoutMs: number): Promise<Uint8Array | undefined> {
  try {
    return await keys.get(key, { timeoutMs });
  } catch (error) {
    if (error instanceof StoreTimeoutError) return undefined;
    throw error;
  }
}

function nameHere(states: readonly RankState[]): NodeName {
  const firstRank = Math.min(...states.map(({ rank }) => rank));
  return { host: hostname(), launcherPid: process.ppid, firstRank, ranks: states.length };
}
