// In the launcher of a job of several nodes.
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { printableLines, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { PrefixStore } from '@ringrun/rendezvous';
import { firstRankOf } from '@ringrun/rendezvous/rounds';
import type { Round } from '@ringrun/rendezvous/rounds';
import { encodeStates } from './node-states.ts';
import type { NodeName } from './node-states.ts';
import { ReportFile } from './report-file.ts';
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

/**
 * Milliseconds of one wait for a request (as the rendezvous waits for changes), and until the next attempt after an
 * error.
 */
const waitMs = 1000;

/** Milliseconds for the requesting rank to collect the report. */
const reportMs = 5000;

/**
 * Until `over` is aborted, answers timeouts of ranks on other nodes with the states of this node's ranks, and prints
 * their report unless a rank of this node prints it. Costs one waiting call of the store. Never rejects.
 *
 * @param currentStore The store of the job; undefined without a connection.
 * @param folder The launcher's temporary folder.
 */
export async function answerStackRequests(
  currentStore: () => Store | undefined,
  round: Round,
  folder: string,
  over: AbortSignal,
): Promise<void> {
  let written: Store | undefined;
  for (let number = 0; number < maxRequests && !over.aborted;) {
    try {
      const store = currentStore();
      if (!store) throw new StoreTimeoutError([], 'there is no connection');
      const keys = new PrefixStore(storeOfStacks(round.restartCount), store);
      if (written !== store) await keys.set(nodeKey(round.groupRank), JSON.stringify(nameOf(round)));
      written = store;
      const request = parseRequest(await keys.get(requestKey(number), { timeoutMs: waitMs }));
      if (request && request.from !== round.groupRank)
        void answer(keys, number, request, round, folder).catch(() => undefined);
      number += 1;
    } catch (error) {
      // The rendezvous handles errors of the connection, and opens another one.
      const hasWaited = error instanceof StoreTimeoutError && error.missingKeys.length > 0;
      if (!hasWaited) await sleep(waitMs, undefined, { signal: over }).catch(() => undefined);
    }
  }
}

function nameOf(round: Round): NodeName {
  const ranks = round.processesPerNode[round.groupRank];
  return { host: hostname(), launcherPid: process.pid, firstRank: firstRankOf(round), ranks };
}

async function answer(
  keys: Store,
  number: number,
  { id }: StackRequest,
  { groupRank }: Round,
  folder: string,
): Promise<void> {
  // Loaded only if a rank of the job times out.
  const { collectStates } = await import('./collect.ts');
  await keys.set(answerKey(number, groupRank), encodeStates(await collectStates(folder)));
  const report = printableLines(
    Buffer.from(await keys.get(reportKey(number), { timeoutMs: reportMs })).toString(),
  );
  const file = new ReportFile(folder, id);
  if (!file.claim()) return;
  file.write(report);
  process.stderr.write(report);
}
