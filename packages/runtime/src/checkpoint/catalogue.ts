import type { StoredObject } from '../storage/index.ts';

/*
 * Names of stored checkpoints, and which of them are complete, newest, or to be deleted. A checkpoint is a
 * folder `checkpoint-<number>-step-<step>`. Numbers increase with every checkpoint in a location, so the
 * newest is known even if a job went back to an earlier step.
 */

export const manifestName = 'manifest.json';

/** The prefix of all checkpoint names. */
export const namePrefix = 'checkpoint-';

export interface CheckpointEntry {
  /** Name of the folder. */
  name: string;
  number: number;
  step: number;
  /** Whether its manifest exists. The manifest is written last and deleted first. */
  isComplete: boolean;
}

/**
 * Maximum digits of a number and a step. A longer one would not be exact as a JavaScript number, so the name
 * is not ringrun's.
 */
const maxDigits = 15;

const pattern = new RegExp(
  String.raw`^(checkpoint-(\d{1,${maxDigits}})-step-(\d{1,${maxDigits}}))/(.*)$`,
  's',
);

/** Padded, so that listings sort checkpoints by number. */
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

/** The complete checkpoints, newest first. */
export function newestFirst<Entry extends CheckpointEntry>(entries: readonly Entry[]): Entry[] {
  const complete = entries.filter(({ isComplete }) => isComplete);
  return complete.sort((a, b) => b.number - a.number || b.step - a.step);
}

/** The highest number; 0 if there are no checkpoints. */
export function highestNumber(entries: readonly CheckpointEntry[]): number {
  return entries.reduce((highest, { number }) => Math.max(highest, number), 0);
}

/**
 * The number of the next checkpoint: higher than those of `entries`, and than `above`, the highest number
 * seen on other hosts.
 */
export function nextNumber(entries: readonly CheckpointEntry[], above = 0): number {
  return Math.max(highestNumber(entries), above) + 1;
}

/**
 * Names of the checkpoints to delete after a new one is complete: all complete ones except the `keep` newest,
 * and incomplete ones older than the newest complete one (left by a crash).
 */
export function superseded(entries: readonly CheckpointEntry[], keep: number): string[] {
  const complete = entries.filter(({ isComplete }) => isComplete);
  const newest = complete.at(-1);
  const kept = new Set(complete.slice(-keep));
  return entries
    .filter((entry) => !kept.has(entry) && newest !== undefined && entry.number < newest.number)
    .map(({ name }) => name);
}
