import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { RingrunError, StoreTimeoutError } from '@ringrun/collectives';
import { formatDuration } from '../waiting-lines.ts';
import type { WaitingLines } from '../waiting-lines.ts';
import { LogFile } from './log-file.ts';
import type { FileRecord } from './record.ts';
import { Roll, admit } from './roll.ts';
import type { FileMember } from './roll.ts';

/** Milliseconds between two attempts to get in. */
const askEveryMs = 20;

/** A file of which this process is a member. */
export interface OpenedFile {
  log: LogFile;
  roll: Roll;
  /** This opening's name. */
  client: string;
  /** What was there before. */
  records: FileRecord[];
}

export interface Opening {
  path: string;
  /** 0: not said. */
  worldSize: number;
  timeoutMs: number;
  lines: WaitingLines;
  /** Takes the line that says that a run which was killed has left something. */
  log: (line: string) => void;
}

/** Opens the file as soon as this process belongs to its run; that of a complete one has to end first. */
export async function openPatiently(opening: Opening): Promise<OpenedFile> {
  const { path, timeoutMs, lines } = opening;
  const startedAt = performance.now();
  for (;;) {
    const found = await tryToOpen(opening);
    if ('log' in found) return found;
    if (performance.now() - startedAt >= timeoutMs) throw notLetIn(path, found.obstacle, timeoutMs);
    lines.say(`the file ${path}: ${found.obstacle}`, startedAt, timeoutMs);
    await sleep(askEveryMs);
  }
}

async function tryToOpen(opening: Opening): Promise<OpenedFile | { obstacle: string }> {
  const log = await LogFile.open(opening.path);
  let opened: OpenedFile | undefined;
  try {
    if (!log.tryTakePen()) return { obstacle: 'another process writes to it' };
    // Between its opening and its locking, the last member of an earlier run may have removed it.
    if (!(await log.isInPlace())) return { obstacle: 'it was removed' };
    const found = await enter(log, opening);
    log.returnPen();
    if ('log' in found) opened = found;
    return found;
  } finally {
    if (!opened) await log.close();
  }
}

async function enter(log: LogFile, opening: Opening): Promise<OpenedFile | { obstacle: string }> {
  const { worldSize } = opening;
  let records = await log.read();
  let roll = rollOf(records);
  const admission = admit(roll.members, worldSize, ({ index }) => log.isLiving(index));
  if (admission.decision === 'refuse') throw otherSize(log.path, worldSize, admission.because);
  if (admission.decision === 'wait') {
    return {
      obstacle: `it belongs to a run of ${worldSize} processes that still goes on (${namesOf(admission.for)})`,
    };
  }
  if (admission.decision === 'start-afresh') {
    if (admission.killed.length > 0) opening.log(startingAfresh(log.path, admission.killed));
    await log.clear();
    [records, roll] = [[], new Roll()];
  }
  return { log, roll, records, client: await join(log, roll, worldSize) };
}

/** The lock comes before the record: whoever reads the record finds its member alive. */
async function join(log: LogFile, roll: Roll, worldSize: number): Promise<string> {
  const client = randomUUID();
  const record: FileRecord = {
    client,
    entry: 'joined',
    joined: { host: hostname(), pid: process.pid, worldSize },
  };
  log.markAsLiving(roll.nextIndex);
  await log.append([record]);
  roll.take(record);
  return client;
}

function rollOf(records: readonly FileRecord[]): Roll {
  const roll = new Roll();
  for (const record of records) roll.take(record);
  return roll;
}

function namesOf(members: readonly FileMember[]): string {
  const names = members.slice(0, 8).map(({ pid, host }) => `process ${pid} on ${host}`);
  return (
    names.join(', ') + (members.length > names.length ? ` and ${members.length - names.length} more` : '')
  );
}

function startingAfresh(path: string, killed: readonly FileMember[]): string {
  return `ringrun: the file ${path} was left by a run that is gone (${namesOf(killed)}): starting afresh`;
}

function otherSize(path: string, worldSize: number, member: FileMember): RingrunError {
  const sizeOf = (size: number) => (size === 0 ? 'any number of processes' : `${size} processes`);
  return new RingrunError(
    'ERR_JOB_MISMATCH',
    `The file ${path} is the store of ${sizeOf(member.worldSize)}, which ${namesOf([member])} has opened; this process expects ${sizeOf(worldSize)}. ` +
      `Give all processes of one job the same world size, and another job another file.`,
  );
}

function notLetIn(path: string, obstacle: string, timeoutMs: number): StoreTimeoutError {
  return new StoreTimeoutError(
    [],
    `The store in the file ${path} could not be opened within ${formatDuration(timeoutMs)}: ${obstacle}. ` +
      `Wait for that run's end, or give this one another file.`,
  );
}
