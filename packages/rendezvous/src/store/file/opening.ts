import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration, RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { WaitReporter } from '../wait-reporter.ts';
import { LogFile } from './log-file.ts';
import type { FileRecord } from './record.ts';
import { Roll, admit } from './roll.ts';
import type { FileMember } from './roll.ts';

/** Milliseconds between two attempts to open the file. */
const askEveryMs = 20;

/** A file of which this process is a member. */
export interface OpenedFile {
  log: LogFile;
  roll: Roll;
  /** Unique id of this opening. */
  client: string;
  /** Records written before this opening. */
  records: FileRecord[];
}

export interface Opening {
  path: string;
  /** 0: unknown. */
  worldSize: number;
  timeoutMs: number;
  lines: WaitReporter;
  /** Receives the line about a file left by a killed run. */
  log: (line: string) => void;
}

/** Opens the file and joins its run. Waits for the end of another run that is complete. */
export async function openPatiently(opening: Opening): Promise<OpenedFile> {
  const { path, timeoutMs, lines } = opening;
  const startedAt = performance.now();
  for (;;) {
    const found = await tryToOpen(opening);
    if ('log' in found) return found;
    if (performance.now() - startedAt >= timeoutMs) throw notLetIn(path, found.obstacle, timeoutMs);
    lines.report(`the file ${path}: ${found.obstacle}`, startedAt, timeoutMs);
    await sleep(askEveryMs);
  }
}

async function tryToOpen(opening: Opening): Promise<OpenedFile | { obstacle: string }> {
  const log = await LogFile.open(opening.path);
  let opened: OpenedFile | undefined;
  try {
    if (!log.tryTakePen()) return { obstacle: 'another process is writing to it' };
    // The last member of an earlier run may have removed the file between opening and locking.
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
      obstacle: `it belongs to a run of ${worldSize} processes that is still active (${namesOf(admission.for)})`,
    };
  }
  if (admission.decision === 'start-afresh') {
    if (admission.killed.length > 0) opening.log(startingAfresh(log.path, admission.killed));
    await log.clear();
    [records, roll] = [[], new Roll()];
  }
  return { log, roll, records, client: await join(log, roll, worldSize) };
}

/** Locks before it appends: a process that reads the record must find its member alive. */
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
  return `ringrun: clearing the file ${path}, which was left by a killed run (${namesOf(killed)})`;
}

function otherSize(path: string, worldSize: number, member: FileMember): RingrunError {
  const sizeOf = (size: number) => (size === 0 ? 'any number of processes' : `${size} processes`);
  return new RingrunError(
    'ERR_JOB_MISMATCH',
    `The store in the file ${path} cannot be opened: expected a store of ${sizeOf(worldSize)}, got one of ${sizeOf(member.worldSize)}, opened by ${namesOf([member])}. ` +
      `Set the same world size on all processes of a job, and use a different file for each job.`,
  );
}

function notLetIn(path: string, obstacle: string, timeoutMs: number): StoreTimeoutError {
  return new StoreTimeoutError(
    [],
    `The store in the file ${path} could not be opened within ${formatDuration(timeoutMs)}: ${obstacle}. ` +
      `Wait until that run has ended, or use another file.`,
  );
}
