import { printable } from '@ringrun/core';
import { setTimeout } from 'node:timers/promises';
import type { Storage } from '../storage/index.ts';
import { highestNumber, newestFirst } from './catalogue.ts';
import type { SeenCheckpoint } from './checkpoint-identity.ts';
import { CheckpointError, errorOf, failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import { describeSaved } from './last-saved.ts';
import { listOnAllRanks, logAfterMs, searchTargetOf, whileReporting } from './listings.ts';
import type { Listing, Search, SearchTarget } from './listings.ts';
import { log } from './log.ts';
import type { Manifest } from './manifest.ts';
import { readCheckpoint, readNewest } from './read-checkpoint.ts';
import type { ReadCheckpoint } from './read-checkpoint.ts';
import { attempt, sharedError, untilSettled } from './checkpoint-group.ts';
import type { CheckpointGroup, Outcome } from './checkpoint-group.ts';

/** A checkpoint that every rank has received. */
export interface FoundCheckpoint {
  /** Path of its folder. */
  path: string;
  manifest: Manifest;
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface SearchResult {
  /** Undefined if `from` is 'auto' and no checkpoint exists yet. */
  found: FoundCheckpoint | undefined;
  /** The highest checkpoint number that any rank sees in `own`, complete or not; 0 if `own` was not searched. */
  highest: number;
  /** The trainings whose newest checkpoints any rank sees in `own`; empty if `own` was not searched. */
  trainings: readonly string[];
}

/** A checkpoint that several ranks see, each on its own host, and one of those ranks. */
interface Candidate extends SeenCheckpoint {
  rank: number;
}

/** Maximum bytes per broadcast, so that each one completes within a collective's timeout. */
const maxBroadcastBytes = 2 ** 28;

/**
 * Every rank lists the location. The first rank that sees the newest checkpoint of the training reads it and broadcasts
 * it. A collective. So only one host needs the folder.
 *
 * @throws CheckpointError, the same on every rank
 */
export async function findCheckpoint(group: CheckpointGroup, search: Search): Promise<SearchResult> {
  const what = `Checkpointer.resume(${JSON.stringify(search.from)})`;
  const target = await attempt(() => searchTargetOf(search));
  const listings = await listUntilOwnIsSeen(group, what, target, search);
  // If rank 0 has a location, every rank has one: it depends only on the arguments.
  const { storage, name } = (target as { value: SearchTarget }).value;
  const report = (line: string) => {
    if (group.rank === 0) log(line);
  };
  const all = candidatesOf(listings, name);
  const candidates = search.from === 'auto' ? candidatesOfOneTraining(listings, all, report) : all;
  if (search.from === 'auto') requireNoneNewer(what, listings, candidates);
  const read = (candidate: Candidate) => readAndBroadcast(group, what, storage, candidate);
  const isOwn = storage.location === search.own.location;
  const highest = isOwn ? Math.max(...listings.map(({ entries }) => highestNumber(entries))) : 0;
  const newestOnHosts = isOwn ? newestOnEachHost(listings) : [];
  const trainings = [...new Set(newestOnHosts.flatMap(({ training }) => training ?? []))];
  if (candidates.length === 0) {
    if (search.from === 'auto') return { found: undefined, highest, trainings };
    throw notFound(what, storage, name);
  }
  reportSendingRank(storage, listings, candidates[0], report);
  try {
    const found =
      name === undefined
        ? await readNewest(storage.location, candidates, read, report)
        : await read(candidates[0]);
    return { found, highest, trainings };
  } catch (error) {
    if (!isDamaged(error)) throw error;
    throw new CheckpointError('damaged', `${what}: ${error.message}`, { cause: error.cause });
  }
}

/** Time for the last checkpoint of this job to be listed: the longest age of a folder in the cache of an NFS client. */
const listedWithinMs = 60_000;
const listEveryMs = 500;

/** Lists again while no rank sees the checkpoint that this job has saved last, if it may be listed late. */
async function listUntilOwnIsSeen(
  group: CheckpointGroup,
  what: string,
  target: Outcome<SearchTarget>,
  search: Search,
): Promise<Listing[]> {
  const startedAt = performance.now();
  for (let reported = 0; ;) {
    const listings = await listOnAllRanks(group, what, target, search);
    const [{ lastSaved, location }] = listings;
    const own = candidatesOf(listings, undefined).filter(isOf(lastSaved?.training)).at(0);
    const isSeen = lastSaved === undefined || (own?.number ?? 0) >= lastSaved.number;
    if (isSeen || listings.every(({ isLate }) => !isLate)) return listings;
    // Rank 0 decides, because clocks differ.
    const waitedMs = await group.broadcastObject(performance.now() - startedAt);
    if (waitedMs >= listedWithinMs) return listings;
    if (group.rank === 0 && waitedMs >= reported * logAfterMs) {
      reported += 1;
      const seconds = Math.round(waitedMs / 1000);
      log(
        `${what}: no rank sees ${describeSaved(lastSaved)} in ${location} yet. A network file system may list it late: waiting for at most ${listedWithinMs / 1000} s, ${seconds} s so far.`,
      );
    }
    await untilSettled(group, setTimeout(listEveryMs));
  }
}

function isDamaged(error: unknown): error is CheckpointError {
  return error instanceof CheckpointError && error.problem === 'damaged';
}

/**
 * Complete checkpoints of all ranks, newest first. If hosts have copies of a checkpoint, each copy is a candidate, since
 * one may be damaged.
 */
function candidatesOf(listings: readonly Listing[], wanted: string | undefined): Candidate[] {
  const copies = new Map<string, Candidate>();
  for (const [rank, { host, location, entries }] of listings.entries()) {
    for (const entry of entries) {
      const isWanted = wanted === undefined || entry.name === wanted;
      const key = JSON.stringify([host, location, entry.name, entry.digest]);
      if (isWanted && entry.isComplete && !copies.has(key)) copies.set(key, { ...entry, rank });
    }
  }
  return withoutSharedCopies([...copies.values()]).sort(
    (a, b) => b.number - a.number || b.step - a.step || savedAt(b) - savedAt(a) || a.rank - b.rank,
  );
}

/**
 * Copies of one checkpoint to try: hosts that share a folder see the same file, so reading it more often is in vain.
 */
const maxCopies = 3;

function withoutSharedCopies(candidates: readonly Candidate[]): Candidate[] {
  const count = new Map<string, number>();
  return candidates.filter(({ name, digest }) => {
    const key = JSON.stringify([name, digest]);
    count.set(key, (count.get(key) ?? 0) + 1);
    return count.get(key)! <= maxCopies;
  });
}

function savedAt({ time }: SeenCheckpoint): number {
  return time === undefined ? 0 : Date.parse(time);
}

/**
 * Numbers are comparable only within one training: a folder on another host may hold an older training with higher
 * numbers. Returns the candidates of the training to resume: the training that this job has saved, if known, otherwise
 * the last one, which is logged. A training that has seen the others is later than they are. If no training has seen them,
 * the hosts' clocks decide, which may differ.
 */
function candidatesOfOneTraining(
  listings: readonly Listing[],
  candidates: readonly Candidate[],
  report: (line: string) => void,
): readonly Candidate[] {
  const saved = listings[0].lastSaved?.training;
  if (saved !== undefined) return candidates.filter(isOf(saved));
  const newest = newestOnEachHost(listings);
  const later = withoutEarlier(newest);
  const last = later.toSorted((a, b) => savedAt(b) - savedAt(a)).at(0);
  if (last === undefined || newest.every(({ training }) => training === last.training)) return candidates;
  const others = newest.filter(
    ({ training }, i) => newest.findIndex((other) => other.training === training) === i,
  );
  const sides = others.map(
    ({ rank, host, name, time }) => `rank ${rank} (host ${host}) has ${name}, saved ${time ?? 'before'}`,
  );
  const isByClock = later.some(({ training }) => training !== last.training);
  report(
    `the hosts have checkpoints of different trainings: ${sides.join('; ')}. Resuming from the one that was ${isByClock ? 'saved last' : 'begun last'}, ${last.name} of rank ${last.rank}. ` +
      'Use a separate location for each job, or a folder that all hosts share.',
  );
  return candidates.filter(isOf(last.training));
}

/** A damaged checkpoint is reported when it is about to be loaded. */
function isOf(name: string | undefined) {
  return ({ training, digest }: SeenCheckpoint) => training === name || digest === undefined;
}

interface NewestOnHost extends SeenCheckpoint {
  rank: number;
  host: string;
}

/** The newest checkpoint that each rank sees, unless it is damaged. */
function newestOnEachHost(listings: readonly Listing[]): NewestOnHost[] {
  return listings.flatMap((listing, rank) => {
    const entry = newestFirst(listing.entries).at(0);
    return entry?.digest === undefined ? [] : [{ ...entry, rank, host: listing.host }];
  });
}

/** Without the trainings that one of the others has seen. All of them if each was seen by another one. */
function withoutEarlier(newest: readonly NewestOnHost[]): readonly NewestOnHost[] {
  const earlier = new Set(
    newest.flatMap(({ training, after = [] }) => after.filter((one) => one !== training)),
  );
  const later = newest.filter(({ training }) => training === undefined || !earlier.has(training));
  return later.length > 0 ? later : newest;
}

/** A job must not silently return to an earlier step than the last saved one. */
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
      ? describeOtherTrainings(listings)
      : `the newest one that a rank sees is ${newest.name}`;
  throw new CheckpointError(
    'behind',
    `${what}: this job has saved ${describeSaved(lastSaved)}, but ${seen} (rank 0 is on host ${host} now). ` +
      `Use a folder that all hosts share or s3://, or bring host ${printable(lastSaved.host)} back. To resume from an earlier step, pass the path of a checkpoint to resume().`,
  );
}

function describeOtherTrainings(listings: readonly Listing[]): string {
  const rank = listings.findIndex(({ entries }) => entries.some(({ isComplete }) => isComplete));
  if (rank < 0) return 'no rank sees a checkpoint in this location';
  const { host, entries } = listings[rank];
  return `rank ${rank} (host ${host}) sees only checkpoints of other trainings, such as ${newestFirst(entries)[0].name}`;
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
    group.rank === rank
      ? await whileReporting(what, 'reading from', storage.location, readCheckpoint(storage, name))
      : undefined,
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
