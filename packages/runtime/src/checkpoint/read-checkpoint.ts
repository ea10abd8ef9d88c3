import { setTimeout } from 'node:timers/promises';
import { StorageError } from '../storage/index.ts';
import { isBucket } from '../storage/open-storage.ts';
import type { Storage } from '../storage/index.ts';
import { manifestName } from './catalogue.ts';
import { CheckpointError } from './checkpoint-error.ts';
import { log } from './log.ts';
import { damaged, decodeManifest, fileRecordOf } from './manifest.ts';
import type { FileRecord, Manifest } from './manifest.ts';

/** A checkpoint whose files match their hashes. */
export interface ReadCheckpoint {
  name: string;
  manifest: Manifest;
  files: Map<string, Uint8Array<ArrayBuffer>>;
}

/**
 * Reads the first of `candidates` that is not damaged; returns undefined if there are no candidates. Reports
 * each damaged one with the affected file.
 *
 * @param location their location, for errors
 * @param candidates complete checkpoints, newest first
 * @throws CheckpointError if all candidates are damaged; any other error of `read`
 */
export async function readNewest<Candidate extends { name: string; rank?: number }, Read>(
  location: string,
  candidates: readonly Candidate[],
  read: (candidate: Candidate) => Promise<Read>,
  report: (line: string) => void,
): Promise<Read | undefined> {
  const skipped: string[] = [];
  for (const candidate of candidates) {
    try {
      const found = await read(candidate);
      const { name, rank = 0 } = candidate;
      const from = rank === 0 ? name : `${name} of rank ${rank}`;
      for (const message of skipped) report(`${message}. Resuming from ${from} instead.`);
      return found;
    } catch (error) {
      if (!(error instanceof CheckpointError) || error.problem !== 'damaged') throw error;
      skipped.push(error.message);
    }
  }
  if (candidates.length === 0) return undefined;
  throw new CheckpointError(
    'damaged',
    `all checkpoints in ${location} are damaged: ${skipped.join('; ')}. Restore one, or move them away to start from the beginning.`,
  );
}

/** @throws CheckpointError: not found, damaged, deleted meanwhile, or of a newer format; StorageError */
export async function readCheckpoint(storage: Storage, name: string): Promise<ReadCheckpoint> {
  const path = `${storage.location}/${name}`;
  const manifestBytes = await readIfPresent(storage, `${name}/${manifestName}`);
  if (manifestBytes === undefined) {
    throw new CheckpointError(
      'not found',
      `${path} is not a complete checkpoint: it has no ${manifestName}. Pass the path of a complete one.`,
    );
  }
  const manifest = decodeManifest(manifestBytes, path);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [file, record] of Object.entries(manifest.files)) {
    const bytes = await readWhenVisible(storage, name, file);
    if (bytes === undefined) await requireNotDeleted(storage, name);
    await requireRecordedHash(bytes, record, path, file);
    files.set(file, bytes!);
  }
  return { name, manifest, files };
}

/** Time for a file to become visible that the manifest lists: hosts of an NFS server see new files late. */
const visibleWithinMs = 4000;
const lookEveryMs = 250;

async function readWhenVisible(
  storage: Storage,
  name: string,
  file: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const startedAt = performance.now();
  for (let isReported = false; ; isReported = true) {
    const bytes = await readIfPresent(storage, `${name}/${file}`);
    if (bytes !== undefined || isBucket(storage.location)) return bytes;
    if (performance.now() - startedAt > visibleWithinMs) return undefined;
    if (!isReported)
      log(
        `${storage.location}/${name}/${file} is not visible on this host; waiting for at most ${visibleWithinMs / 1000} s.`,
      );
    await setTimeout(lookEveryMs);
  }
}

/** A checkpoint loses its manifest first. So without one, another job has deleted it since it was listed. */
async function requireNotDeleted(storage: Storage, name: string): Promise<void> {
  if ((await readIfPresent(storage, `${name}/${manifestName}`)) !== undefined) return;
  throw new CheckpointError(
    'in use',
    `${storage.location}/${name} was deleted while it was read: another job saves to ${storage.location}. Use a separate location for each job, or stop that job first.`,
  );
}

async function requireRecordedHash(
  bytes: Uint8Array | undefined,
  expected: FileRecord,
  path: string,
  file: string,
): Promise<void> {
  const found = bytes && (await fileRecordOf(bytes));
  if (found?.bytes === expected.bytes && found.sha256 === expected.sha256) return;
  const has = found ? `it has ${found.bytes} bytes of SHA-256 ${found.sha256}` : 'it is missing';
  throw damaged(path, `${has}, expected ${expected.bytes} bytes of SHA-256 ${expected.sha256}`, file);
}

async function readIfPresent(storage: Storage, name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await storage.read(name);
  } catch (error) {
    if (error instanceof StorageError && error.problem === 'not found') return undefined;
    throw error;
  }
}
