import { hostname } from 'node:os';
import { localRankOf } from '@ringrun/core';
import { mayListLate } from '../storage/network-file-system.ts';
import { isBucket, openStorage } from '../storage/open-storage.ts';
import type { Storage } from '../storage/index.ts';
import { checkpointsAmong, namePrefix } from './catalogue.ts';
import { identify } from './checkpoint-identity.ts';
import type { SeenCheckpoint } from './checkpoint-identity.ts';
import { failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import { attempt, sharedError, untilSettled } from './checkpoint-group.ts';
import type { CheckpointGroup, Outcome } from './checkpoint-group.ts';
import type { SavedCheckpoint } from './last-saved.ts';
import { log } from './log.ts';

export interface Search {
  /** The checkpointer's own location. */
  own: Storage;
  /** 'auto' for the newest in `own`, the path of a checkpoint, or the path of a folder of checkpoints. */
  from: string;
  /** On rank 0: the last checkpoint that this job has saved, if known. */
  lastSaved: () => Promise<SavedCheckpoint | undefined>;
}

/** The checkpoints that one rank sees in a location. */
export interface Listing {
  host: string;
  /** The location as this rank names it. */
  location: string;
  entries: readonly SeenCheckpoint[];
  failure?: Failure;
  /** Whether new files of another host may be listed late. */
  isLate: boolean;
  /** Set on rank 0. */
  lastSaved?: SavedCheckpoint | undefined;
}

/** Milliseconds of listing or reading after which it is logged. */
export const logAfterMs = 5000;

/** The location to search, and the name of the checkpoint. Without a name, any checkpoint matches. */
export interface SearchTarget {
  storage: Storage;
  name?: string | undefined;
}

export function searchTargetOf({ own, from }: Search): SearchTarget {
  if (from === 'auto') return { storage: own };
  const [location, name] = split(from);
  const storage = location === '' ? own : openStorage(location);
  return { storage, name };
}

/** Returns the listing of each rank. Only rank 0 lists a bucket, since all ranks see the same. */
export async function listOnAllRanks(
  group: CheckpointGroup,
  what: string,
  target: Outcome<SearchTarget>,
  { lastSaved, from }: Search,
): Promise<Listing[]> {
  const list = async (): Promise<Listing> => {
    const host = hostname();
    if ('error' in target)
      return { host, location: '', entries: [], isLate: false, failure: failureOf(target.error) };
    const { storage } = target.value;
    const { location } = storage;
    if (group.rank > 0 && isBucket(location)) return { host, location, entries: [], isLate: false };
    const listed = attempt(() => storage.list(namePrefix));
    // One line for each host.
    const isFirst = group.rank === 0 || localRankOf(process.env) === '0';
    const seen = await (isFirst ? whileReporting(what, 'listing', location, listed) : listed);
    const isLate = !isBucket(location) && (await mayListLate(location));
    const saved = group.rank === 0 && from === 'auto' ? await lastSaved() : undefined;
    if ('error' in seen) return { host, location, entries: [], isLate, failure: failureOf(seen.error) };
    const entries = await identify(storage, checkpointsAmong(seen.value));
    return { host, location, entries, isLate, lastSaved: saved };
  };
  const listing = list();
  await untilSettled(group, listing);
  const listings = await group.allGatherObject(await listing);
  const [{ failure }] = listings;
  // Failures of other ranks are ignored: their hosts may lack the folder or the permission to read it.
  if (failure) throw sharedError(what, 0, failure, 'not read');
  return listings;
}

/** Splits off the name if the last part of the path is a checkpoint's name. */
function split(path: string): [location: string, name?: string] {
  const [, location, name] = /^(.*?)([^/]+)\/*$/.exec(path) ?? [path, path, ''];
  const isCheckpoint = checkpointsAmong([{ name: `${name}/`, bytes: 0 }]).length > 0;
  return isCheckpoint ? [location, name] : [path];
}

/** Logs every 5 s that `working` is not settled. */
export async function whileReporting<T>(
  what: string,
  doing: 'listing' | 'reading from',
  location: string,
  working: Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const lines = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    log(`${what}: still ${doing} ${location} after ${seconds} s; the other ranks wait.`);
  }, logAfterMs);
  return await working.finally(() => {
    clearInterval(lines);
  });
}
