// On the helper thread: one report of a timeout for all ranks of the job.
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable, printableLines } from '@ringrun/core';
import { collectStates } from './collect.ts';
import type { Connections } from './connections.ts';
import { describeStates } from './rank-state.ts';
import type { NodeStates } from './node-states.ts';
import type { RankState } from './rank-state.ts';
import { ReportFile } from './report-file.ts';
import { reply } from './timeout-record.ts';
import type { TimeoutRecord } from './timeout-record.ts';

/**
 * Milliseconds for the ranks of this host to read the report: the launcher stops all of them when the first one ends.
 */
const handOverMs = 60;
const printEveryMs = 10;
const stderr = 2;

/** Maximum characters of a report; a longer report is truncated. */
const maxCharacters = 200_000;

/**
 * Answers the main thread with the report. The first rank of the job that asks collects it, the first one of each node
 * prints it, and the others read its file.
 */
export async function answerTimeout(
  folder: string,
  record: TimeoutRecord,
  connections: Connections,
): Promise<void> {
  try {
    const named = JSON.stringify(record.missing);
    const id = createHash('sha256').update(named).digest('hex').slice(0, 16);
    const file = new ReportFile(folder, id);
    reply(record, file.claim() ? await write(folder, file, id, record, connections) : await file.read());
  } catch {
    reply(record, undefined);
  }
}

async function write(
  folder: string,
  file: ReportFile,
  id: string,
  record: TimeoutRecord,
  connections: Connections,
): Promise<string> {
  const own = collectStates(folder);
  const report = (await ofSeveralNodes(id, own, record, connections)) ?? ofHost(await own, record);
  file.write(report);
  await print(Buffer.from(report));
  await sleep(handOverMs);
  return report;
}

/** A report may be larger than the pipe to the launcher, and writing must not block. */
async function print(report: Uint8Array): Promise<void> {
  for (let written = 0; written < report.length;) {
    try {
      written += writeSync(stderr, report, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await sleep(printEveryMs);
    }
  }
}

/** Undefined for a job of one node. */
async function ofSeveralNodes(
  id: string,
  own: Promise<RankState[]>,
  record: TimeoutRecord,
  connections: Connections,
): Promise<string | undefined> {
  if (!(Number(process.env['GROUP_WORLD_SIZE']) > 1)) return undefined;
  const [{ connectToJob, jobPlace, reportOfJob }, { describeNode }] = await Promise.all([
    import('./stack-requests.ts'),
    import('./node-states.ts'),
  ]);
  const place = jobPlace(process.env);
  if (!place) return undefined;
  try {
    const compose = (nodes: readonly NodeStates[]) => {
      const states = nodes.flatMap((node) => node.states ?? []);
      return shortened(
        headline(states, record) + nodes.map((node) => describeNode(node, record.missing)).join(''),
      );
    };
    const report = await connections.use(
      () => connectToJob(place),
      (client) => reportOfJob(place, id, own, compose, client),
    );
    return printableLines(report);
  } catch (error) {
    const why = printable(error instanceof Error ? error.message : String(error));
    return `${ofHost(await own, record)}The other nodes did not report their ranks: ${why}\n`;
  }
}

function ofHost(states: readonly RankState[], record: TimeoutRecord): string {
  const host = hostname();
  const missingPids = new Set(record.missing.filter((one) => one.host === host).map(({ pid }) => pid));
  return `${headline(states, record)}The ranks on host ${printable(host)}:\n${describeStates(states, missingPids)}`;
}

function headline(states: readonly RankState[], record: TimeoutRecord): string {
  const missing = record.missing.map(({ rank, host, pid }) =>
    printable(`rank ${rank} (host ${host}, pid ${pid})`),
  );
  return `ringrun: timeout of ${operationOf(states, record)}: missing ${missing.join(', ')}. `;
}

/** The operation in which a rank was missing: a missing rank may have failed first, in another operation. */
function operationOf(states: readonly RankState[], { operation, missing }: TimeoutRecord): string {
  const missingPids = missing.map(({ pid }) => pid);
  const waited = states
    .toSorted((a, b) => a.rank - b.rank)
    .find(({ activity, pid }) => activity === 'failed' && !missingPids.includes(pid));
  return waited?.operations[0] ?? printable(operation);
}

function shortened(report: string): string {
  if (report.length <= maxCharacters) return report;
  const end = report.lastIndexOf('\n', maxCharacters) + 1;
  return `${report.slice(0, end)}The rest of the report is left out: it has ${report.length} characters. Run "ringrun stacks" on the other hosts.\n`;
}
