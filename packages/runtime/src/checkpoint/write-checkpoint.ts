import { StorageError } from '../storage/index.ts';
import type { Storage } from '../storage/index.ts';
import {
  checkpointName,
  checkpointsAmong,
  manifestName,
  namePrefix,
  nextNumber,
  superseded,
} from './catalogue.ts';
import { CheckpointError } from './checkpoint-error.ts';
import { lockFile } from './folder-lock.ts';
import { encodeManifest, fileRecordOf } from './manifest.ts';
import type { FileRecord, SaveInfo } from './manifest.ts';
import { decodeIdentity, describeIdentity, ownIdentity } from './writer-identity.ts';
import type { WriterIdentity } from './writer-identity.ts';

/** A checkpoint to write, and how many to keep. */
export interface WriteJob {
  saveInfo: SaveInfo;
  /** All files except the manifest, by name. */
  files: ReadonlyMap<string, Uint8Array>;
  keep: number;
  /** The checkpoint's number is higher than this one and all existing ones. Default: 0. */
  above?: number;
}

export interface Written {
  /** Name of the checkpoint. */
  name: string;
  number: number;
  /** Why older checkpoints could not be deleted. */
  notDeleted?: string;
}

/** Throws if another process writes to the location. */
export interface Claim {
  requireOwn(): Promise<void>;
}

/**
 * Writes a checkpoint. The manifest is written last and makes it complete. Then deletes superseded
 * checkpoints, their manifests first, so that an incomplete one never looks complete.
 *
 * @param claim for a location without locks: checked before the first write, before the manifest, and before
 * deleting
 * @throws StorageError if it could not be written; then the incomplete files in a folder are deleted
 */
export async function writeCheckpoint(storage: Storage, job: WriteJob, claim?: Claim): Promise<Written> {
  const before = checkpointsAmong(await storage.list(namePrefix));
  await claim?.requireOwn();
  const number = nextNumber(before, job.above);
  const name = checkpointName(number, job.saveInfo.step);
  // False if the folder cannot be created: then nothing was deleted.
  const isLocked = claim === undefined && (await holderOf(storage)) !== undefined;
  try {
    await writeFiles(storage, name, job, claim);
  } catch (error) {
    // In a bucket, a newer writer may use the same name.
    if (claim === undefined) await storage.deleteFolder(name).catch(() => undefined);
    const isGone = error instanceof StorageError && error.problem === 'not found';
    throw isGone && isLocked ? await deletedMeanwhile(storage, name, error) : error;
  }
  try {
    await claim?.requireOwn();
    await deleteSuperseded(storage, job.keep);
    return { name, number };
  } catch (error) {
    return { name, number, notDeleted: error instanceof Error ? error.message : String(error) };
  }
}

/** The manifest is written last. */
async function writeFiles(
  storage: Storage,
  name: string,
  { saveInfo, files }: WriteJob,
  claim: Claim | undefined,
): Promise<void> {
  const records: Record<string, FileRecord> = {};
  for (const [file, bytes] of files) {
    records[file] = await fileRecordOf(bytes);
    await storage.write(`${name}/${file}`, bytes);
  }
  await claim?.requireOwn();
  if (claim === undefined) await requireAll(storage, name, [...files.keys()]);
  await storage.write(`${name}/${manifestName}`, encodeManifest(saveInfo, records));
}

/** A folder that was deleted between two files exists again after the second. */
async function requireAll(storage: Storage, name: string, files: readonly string[]): Promise<void> {
  const present = new Set((await storage.list(`${name}/`)).map((object) => object.name));
  for (const file of files) {
    if (present.has(`${name}/${file}`)) continue;
    // Network file systems list new files late.
    if (!(await canBeOpened(storage, `${name}/${file}`))) throw await deletedMeanwhile(storage, name);
  }
}

async function canBeOpened(storage: Storage, name: string): Promise<boolean> {
  try {
    const chunks = storage.chunks(name)[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.return?.();
    return true;
  } catch (error) {
    if (error instanceof StorageError && error.problem === 'not found') return false;
    throw error;
  }
}

/** The error if another process has deleted the files of a checkpoint that is being written. */
async function deletedMeanwhile(storage: Storage, name: string, cause?: unknown): Promise<CheckpointError> {
  const holder = await holderOf(storage);
  // The id differs between threads.
  const isOwn = holder?.pid === ownIdentity.pid && holder.host === ownIdentity.host;
  const other = isOwn ? undefined : holder;
  return new CheckpointError(
    'in use',
    `${storage.location}/${name} was deleted while it was written: another job saves to ${storage.location}, ` +
      `or its files were deleted by hand${other ? `. The last writer is ${describeIdentity(other)}` : ''}. ` +
      'Use a separate location for each job, or stop that process first.',
    { cause },
  );
}

/** The process in the lock file of a folder. */
async function holderOf(storage: Storage): Promise<WriterIdentity | undefined> {
  return await storage.read(lockFile).then(decodeIdentity, () => undefined);
}

async function deleteSuperseded(storage: Storage, keep: number): Promise<void> {
  const entries = checkpointsAmong(await storage.list(namePrefix));
  const failures: unknown[] = [];
  for (const name of superseded(entries, keep)) {
    try {
      await storage.deleteFolder(name, manifestName);
    } catch (error) {
      // One that cannot be deleted, such as a folder with a file that is open on NFS, does not keep the others.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
