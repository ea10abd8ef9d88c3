// On the helper thread: one report of a timeout for all ranks of this host.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '@ringrun/core';
import { collectStates } from './collect.ts';
import { describeStates } from './rank-state.ts';
import type { RankState } from './rank-state.ts';
import { reply } from './timeout-record.ts';
import type { TimeoutRecord } from './timeout-record.ts';

const lookEveryMs = 20;
const stderr = 2;

/**
 * Answers the main thread with the report. The first rank that asks collects and prints it; the others read its file.
 */
export async function answerTimeout(folder: string, record: TimeoutRecord): Promise<void> {
  try {
    const key = createHash('sha256').update(JSON.stringify(record.missing)).digest('hex').slice(0, 16);
    const file = join(folder, `timeout-${key}.txt`);
    const report = isFirst(`${file}.lock`) ? await write(folder, file, record) : await read(file);
    reply(record, report);
  } catch {
    reply(record, undefined);
  }
}

/** Creates the file, which exists if another rank collects. */
function isFirst(lock: string): boolean {
  try {
    writeFileSync(lock, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function write(folder: string, file: string, record: TimeoutRecord): Promise<string> {
  const states = await collectStates(folder);
  const missing = record.missing.map((one) => printable(one)).join(', ');
  const report =
    `ringrun: timeout of ${operationOf(states, record)}: missing ${missing}. The ranks on host ${printable(hostname())}:\n` +
    describeStates(states, new Set(record.missingPids));
  writeFileSync(`${file}.tmp`, report, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
  writeSync(stderr, report);
  // The others find it first: the first rank that ends makes the launcher end all.
  await sleep(3 * lookEveryMs);
  return report;
}

/** The operation in which a rank was missing: a missing rank may have failed first, in another one. */
function operationOf(states: readonly RankState[], { operation, missingPids }: TimeoutRecord): string {
  const waited = states
    .toSorted((a, b) => a.rank - b.rank)
    .find(({ activity, pid }) => activity === 'failed' && !missingPids.includes(pid));
  return waited?.operations[0] ?? printable(operation);
}

/** The main thread stops waiting by itself. */
async function read(file: string): Promise<string> {
  while (!existsSync(file)) await sleep(lookEveryMs);
  return readFileSync(file, 'utf8');
}
