import { hostname } from 'node:os';
import { isBucket, openStorage } from '../storage/open-storage.ts';
import type { Storage } from '../storage/index.ts';
import { checkpointsAmong, highestNumber, namePrefix, newestFirst } from './catalogue.ts';
import type { CheckpointEntry } from './catalogue.ts';
import { CheckpointError, errorOf, failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import { describeSaved } from './last-saved.ts';
import type { SavedCheckpoint } from './last-saved.ts';
import { log } from './log.ts';
import type { Manifest } from './manifest.ts';
import { readCheckpoint, readNewest } from './read-checkpoint.ts';
import type { ReadCheckpoint } from './read-checkpoint.ts';
import { attempt, sharedError, untilSettled } from './checkpoint-group.ts';
import type { Outcome, CheckpointGroup } from './checkpoint-group.ts';

/** A checkpoint that every rank has received. */
export interface FoundCheckpoint {
  /** Path of its folder. */
  path: string;
  manifest: Manifest;
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface Search {
  /** The checkpointer's own location. */
  own: Storage;
  /** 'auto' for the newest in `own`, the path of a checkpoint, or the path of a folder of checkpoints. */
  from: string;
  /** On rank 0: the last checkpoint that this job has saved, if known. */
  lastSaved: () => Promise<SavedCheckpoint | undefined>;
}

export interface SearchResult {
  /** Undefined if `from` is 'auto' and there is no checkpoint yet. */
  found: FoundCheckpoint | undefined;
  /** The highest checkpoint number that any rank sees in `own`, complete or not; 0 if `own` was not searched. */
  highest: number;
}

/** The checkpoints that one rank sees in a location. */
interface Listing {
  host: string;
  entries: readonly CheckpointEntry[];
  failure?: Failure;
  /** Set on rank 0. */
  lastSaved?: SavedCheckpoint | undefined;
}

/** A checkpoint and the first rank that sees it. */
interface Candidate extends CheckpointEntry {
  rank: number;
}

/** Maximum bytes per broadcast, so that each one completes within a collective's timeout. */
const maxBroadcastBytes = 2 ** 28;

/** Milliseconds of reading after which it is logged. */
const logAfterMs = 5000;

/**
 * Every rank lists the location. The first rank that sees the newest checkpoint reads it and broadcasts it. A
 * collective. So it is enough if one host has the folder.
 *
 * @throws CheckpointError, the same on every rank
 */
export async function findCheckpoint(group: CheckpointGroup, search: Search): Promise<SearchResult> {
  const what = `Checkpointer.resume(${JSON.stringify(search.from)})`;
  const target = await attempt(() => searchTargetOf(search));
  const listings = await listOnAllRanks(group, what, target, search);
  // If rank 0 has a location, every rank has: it depends only on the arguments.
  const { storage, name } = (target as { value: SearchTarget }).value;
  const candidates = candidatesOf(listings, name);
  if (search.from === 'auto') requireNoneNewer(what, listings, candidates);
  const read = (candidate: Candidate) => readAndBroadcast(group, what, storage, candidate);
  const isOwn = storage.location === search.own.location;
  const highest = isOwn ? Math.max(...listings.map(({ entries }) => highestNumber(entries))) : 0;
  if (candidates.length === 0) {
    if (search.from === 'auto') return { found: undefined, highest };
    throw notFound(what, storage, name);
  }
  const report = (line: string) => {
    if (group.rank === 0) log(line);
  };
  reportSendingRank(storage, listings, candidates[0], report);
  try {
    const found =
      name === undefined
        ? await readNewest(storage.location, candidates, read, report)
        : await read(candidates[0]);
    return { found, highest };
  } catch (error) {
    if (!isDamaged(error)) throw error;
    throw new CheckpointError('damaged', `${what}: ${error.message}`, { cause: error.cause });
  }
}

function isDamaged(error: unknown): error is CheckpointError {
  return error instanceof CheckpointError && error.problem === 'damaged';
}

/** The location to search, and the name of the checkpoint. Without a name, any checkpoint matches. */
interface SearchTarget {
  storage: Storage;
  name?: string | undefined;
}

function searchTargetOf({ own, from }: Search): SearchTarget {
  if (from === 'auto') return { storage: own };
  const [location, name] = split(from);
  const storage = location === '' ? own : openStorage(location);
  return { storage, name };
}

/** Returns what each rank sees. Only rank 0 lists a bucket, since all ranks see the same. */
async function listOnAllRanks(
  group: CheckpointGroup,
  what: string,
  target: Outcome<SearchTarget>,
  { lastSaved, from }: Search,
): Promise<Listing[]> {
  const list = async (): Promise<Listing> => {
    const host = hostname();
    if ('error' in target) return { host, entries: [], failure: failureOf(target.error) };
    const { storage } = target.value;
    if (group.rank > 0 && isBucket(storage.location)) return { host, entries: [] };
    const seen = await attempt(() => storage.list(namePrefix));
    const saved = group.rank === 0 && from === 'auto' ? await lastSaved() : undefined;
    if ('error' in seen) return { host, entries: [], failure: failureOf(seen.error) };
    return { host, entries: checkpointsAmong(seen.value), lastSaved: saved };
  };
  const listing = list();
  await untilSettled(group, listing);
  const listings = await group.allGatherObject(await listing);
  const [{ failure }] = listings;
  // Only rank 0's failure counts: other hosts may lack the folder or the permission to read it.
  if (failure) throw sharedError(what, 0, failure, 'not read');
  return listings;
}

/** Complete checkpoints of all ranks, newest first. */
function candidatesOf(listings: readonly Listing[], wanted: string | undefined): Candidate[] {
  const byName = new Map<string, Candidate>();
  for (const [rank, { entries }] of listings.entries()) {
    for (const entry of entries) {
      const isWanted = wanted === undefined || entry.name === wanted;
      if (isWanted && entry.isComplete && !byName.has(entry.name)) byName.set(entry.name, { ...entry, rank });
    }
  }
  return newestFirst([...byName.values()]);
}

/** A job must not silently go back to an earlier step than it has saved. */
function requireNoneNewer(
  what: string,
  listings: readonly Listing[],
  candidates: readonly Candidate[],
): void {
  const [{ lastSaved, host }] = listings;
  const newest = candidates.at(0);
  if (lastSaved === undefined || (newest?.number ?? 0) >= lastSaved.number) return;
  const seen =
    newest === undefined
      ? 'no rank sees a checkpoint in this location'
      : `the newest one that a rank sees is ${newest.name}`;
  throw new CheckpointError(
    'behind',
    `${what}: this job has saved ${describeSaved(lastSaved)}, but ${seen} (rank 0 is on host ${host} now). ` +
      `Use a folder that all hosts share or s3://, or bring host ${lastSaved.host} back. To resume from an earlier step, pass the path of a checkpoint to resume().`,
  );
}

function reportSendingRank(
  { location }: Storage,
  listings: readonly Listing[],
  { name, rank }: Candidate,
  report: (line: string) => void,
): void {
  if (rank === 0) return;
  report(
    `rank 0 (host ${listings[0].host}) does not see ${name} in ${location}; rank ${rank} (host ${listings[rank].host}) sees it and sends it to all ranks. ` +
      'Keep checkpoints in a folder that all hosts share, or in s3://: if that host is lost, its checkpoints are lost too.',
  );
}

function notFound(what: string, { location }: Storage, name: string | undefined): CheckpointError {
  const problem =
    name === undefined
      ? `expected a complete checkpoint in ${location}, but no rank sees one. Pass the path of a checkpoint or of a folder of checkpoints, or use resume('auto') to start from the beginning if there is none.`
      : `expected a complete checkpoint at ${location}/${name}, but no rank sees its manifest.json. Pass the path of a complete checkpoint.`;
  return new CheckpointError('not found', `${what}: ${problem}`);
}

/** The message of the reading rank to the others: the checkpoint's contents or the failure. */
interface Announcement {
  failure?: Failure;
  found?: Pick<FoundCheckpoint, 'path' | 'manifest'> & { sizes: (readonly [file: string, bytes: number])[] };
}

async function readAndBroadcast(
  group: CheckpointGroup,
  what: string,
  storage: Storage,
  { name, rank }: Candidate,
): Promise<FoundCheckpoint> {
  const reading = attempt(async () =>
    group.rank === rank ? await whileReporting(what, storage, readCheckpoint(storage, name)) : undefined,
  );
  await untilSettled(group, reading);
  const read = await reading;
  const announcement = await group.broadcastObject<Announcement>(
    'error' in read ? { failure: failureOf(read.error) } : announcementOf(storage, read.value),
    { src: rank },
  );
  const { failure, found } = announcement;
  if (failure) {
    // The caller may skip a damaged checkpoint and log the message alone, so it has no prefix.
    if (failure.problem === 'damaged')
      throw new CheckpointError('damaged', failure.message, { cause: errorOf(failure) });
    throw sharedError(what, rank, failure, 'not read');
  }
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const own = 'value' in read ? read.value?.files : undefined;
  for (const [file, bytes] of found!.sizes) {
    const content = own?.get(file) ?? new Uint8Array(bytes);
    for (let begin = 0; begin < bytes; begin += maxBroadcastBytes)
      await group.broadcast(content.subarray(begin, begin + maxBroadcastBytes), { src: rank });
    files.set(file, content);
  }
  return { path: found!.path, manifest: found!.manifest, files };
}

function announcementOf({ location }: Storage, read: ReadCheckpoint | undefined): Announcement {
  if (!read) return {};
  const { name, manifest, files } = read;
  const sizes = Array.from(files, ([file, { length }]) => [file, length] as const);
  return { found: { path: `${location}/${name}`, manifest, sizes } };
}

/** Splits off the name if the last part of the path is a checkpoint's name. */
function split(path: string): [location: string, name?: string] {
  const [, location, name] = /^(.*?)([^/]+)\/*$/.exec(path) ?? [path, path, ''];
  const isCheckpoint = checkpointsAmong([{ name: `${name}/`, bytes: 0 }]).length > 0;
  return isCheckpoint ? [location, name] : [path];
}

async function whileReporting<T>(what: string, { location }: Storage, reading: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const lines = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    log(`${what}: still reading from ${location} after ${seconds} s; the other ranks wait.`);
  }, logAfterMs);
  return await reading.finally(() => {
    clearInterval(lines);
  });
}
