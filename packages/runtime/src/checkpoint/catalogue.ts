import type { StoredObject } from '../storage/index.ts';

/*
 * What checkpoints are called where they are stored, and which of them are complete, newest, or to be deleted. A checkpoint is a folder
 * `checkpoint-<number>-step-<step>`; numbers count the checkpoints of a place, so that the newest is known also where a job went back to an earlier step.
 */

export const manifestName = 'manifest.json';

/** All names of checkpoints begin with it. */
export const namePrefix = 'checkpoint-';

export interface CheckpointEntry {
  /** Of the folder. */
  name: string;
  number: number;
  step: number;
  /** Whether its manifest, which is written last and deleted first, is there. */
  isComplete: boolean;
}

/** Numbers and steps have at most so many digits. A longer name is not ringrun's: as a JavaScript number it would not be exact. */
const mostDigits = 15;

const pattern = new RegExp(
  String.raw`^(checkpoint-(\d{1,${mostDigits}})-step-(\d{1,${mostDigits}}))/(.*)$`,
  's',
);

/** Padded, so that listings show checkpoints in their order. */
export function checkpointName(number: number, step: number): string {
  return `${namePrefix}${String(number).padStart(6, '0')}-step-${step}`;
}

/** The checkpoints among stored objects, oldest first. */
export function checkpointsAmong(objects: readonly StoredObject[]): CheckpointEntry[] {
  const entries = new Map<string, CheckpointEntry>();
  for (const object of objects) {
    const match = pattern.exec(object.name);
    if (!match) continue;
    const [, name, number, step, file] = match;
    const isComplete = (entries.get(name)?.isComplete ?? false) || file === manifestName;
    entries.set(name, { name, number: Number(number), step: Number(step), isComplete });
  }
  return [...entries.values()].sort((a, b) => a.number - b.number);
}

/** Those that can be resumed from, the newest first. */
export function newestFirst<Entry extends CheckpointEntry>(entries: readonly Entry[]): Entry[] {
  const complete = entries.filter(({ isComplete }) => isComplete);
  return complete.sort((a, b) => b.number - a.number || b.step - a.step);
}

/** The highest number; 0 where there are none. */
export function highestNumber(entries: readonly CheckpointEntry[]): number {
  return entries.reduce((highest, { number }) => Math.max(highest, number), 0);
}

/** The number of the next checkpoint: higher than all that are there, and than `above`, the highest that is known of elsewhere. */
export function nextNumber(entries: readonly CheckpointEntry[], above = 0): number {
  return Math.max(highestNumber(entries), above) + 1;
}

/**
 * Names of the checkpoints that go once a new one is complete: all complete ones but the `keep` newest, and those before the newest that a crash has
 * left incomplete.
 */
export function superseded(entries: readonly CheckpointEntry[], keep: number): string[] {
  const complete = entries.filter(({ isComplete }) => isComplete);
  const newest = complete.at(-1);
  const kept = new Set(complete.slice(-keep));
  return entries
    .filter((entry) => !kept.has(entry) && newest !== undefined && entry.number < newest.number)
    .map(({ name }) => name);
}
