import { openStorage } from '../storage/index.ts';
import type { Storage } from '../storage/index.ts';
import { checkpointsAmong } from './catalogue.ts';
import { CheckpointError, failureOf } from './checkpoint-error.ts';
import type { Failure } from './checkpoint-error.ts';
import type { Manifest } from './manifest.ts';
import { readCheckpoint, readNewest } from './read-checkpoint.ts';
import type { ReadCheckpoint } from './read-checkpoint.ts';
import { attempt, sharedError } from './team.ts';
import type { Team } from './team.ts';

/** A checkpoint that every rank has. */
export interface FoundCheckpoint {
  /** Of its folder. */
  path: string;
  manifest: Manifest;
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** What rank 0 tells the others: what it has read, or why not; neither where there is nothing yet. */
interface Announcement {
  failure?: Failure;
  found?: Pick<FoundCheckpoint, 'path' | 'manifest'> & { sizes: (readonly [file: string, bytes: number])[] };
}

/**
 * Rank 0 reads a checkpoint, and every rank gets it; a collective. Only rank 0's host has to see the place.
 *
 * @param from 'auto', for the newest of `own`, or undefined where there is none; else the path of a checkpoint, or of the place of some
 * @throws CheckpointError, the same on every rank
 */
export async function findTogether(
  team: Team,
  own: Storage,
  from: string,
): Promise<FoundCheckpoint | undefined> {
  const read = team.rank === 0 ? await attempt(() => find(own, from)) : { value: undefined };
  const announcement = await team.broadcastObject<Announcement>(
    'error' in read ? { failure: failureOf(read.error) } : announcementOf(read.value),
  );
  const { failure, found } = announcement;
  if (failure) throw sharedError(`Checkpointer.resume(${JSON.stringify(from)})`, 0, failure, 'not read');
  if (!found) return undefined;
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const ownFiles = 'value' in read ? read.value?.files : undefined;
  for (const [file, bytes] of found.sizes) {
    const content = ownFiles?.get(file) ?? new Uint8Array(bytes);
    await team.broadcast(content, { src: 0 });
    files.set(file, content);
  }
  return { path: found.path, manifest: found.manifest, files };
}

function announcementOf(found: FoundCheckpoint | undefined): Announcement {
  if (!found) return {};
  const { path, manifest, files } = found;
  return { found: { path, manifest, sizes: Array.from(files, ([file, { length }]) => [file, length]) } };
}

async function find(own: Storage, from: string): Promise<FoundCheckpoint | undefined> {
  if (from === 'auto') return located(own, await readNewest(own, tell));
  const [location, name] = split(from);
  if (name !== undefined) {
    const storage = location === '' ? own : openStorage(location);
    return located(storage, await readCheckpoint(storage, name));
  }
  const storage = openStorage(from);
  const newest = located(storage, await readNewest(storage, tell));
  if (newest) return newest;
  throw new CheckpointError(
    'not found',
    `${storage.location} has no complete checkpoint. Name a checkpoint, or the place of some; resume('auto') begins anew where there is none.`,
  );
}

function located(storage: Storage, read: ReadCheckpoint | undefined): FoundCheckpoint | undefined {
  return read && { path: `${storage.location}/${read.name}`, manifest: read.manifest, files: read.files };
}

/** The place and the name, where a path's last part is a checkpoint's name. */
function split(path: string): [location: string, name?: string] {
  const [, location, name] = /^(.*?)([^/]+)\/*$/.exec(path) ?? [path, path, ''];
  const isCheckpoint = checkpointsAmong([{ name: `${name}/`, bytes: 0 }]).length > 0;
  return isCheckpoint ? [location, name] : [path];
}

function tell(line: string): void {
  process.stderr.write(`ringrun: ${line}\n`);
}
