import type { Storage } from '../storage/index.ts';
import {
  checkpointName,
  checkpointsAmong,
  manifestName,
  namePrefix,
  nextNumber,
  superseded,
} from './catalogue.ts';
import { encodeManifest, recordOf } from './manifest.ts';
import type { FileRecord, Occasion } from './manifest.ts';

/** A checkpoint that is to be written, and how many are to be there afterwards. */
export interface WriteJob {
  occasion: Occasion;
  /** By name, all but the manifest. */
  files: ReadonlyMap<string, Uint8Array>;
  keep: number;
  /** Its number is higher than this one, and than all that are there. Default: 0. */
  above?: number;
}

export interface Written {
  /** Of the checkpoint. */
  name: string;
  number: number;
  /** Why older checkpoints are still there that should have gone. */
  notDeleted?: string;
}

/** Makes sure that nobody else writes to the place; throws otherwise. */
export interface Claim {
  requireOwn(): Promise<void>;
}

/**
 * Writes a checkpoint, its manifest last: before that it does not count, and what was there before does. Then those that it supersedes are deleted, their
 * manifests first, so that none looks complete that is not.
 *
 * @param claim where no lock keeps others away: asked before anything is written, before the manifest, and before anything is deleted
 * @throws StorageError when it could not be written
 */
export async function writeCheckpoint(storage: Storage, job: WriteJob, claim?: Claim): Promise<Written> {
  const before = checkpointsAmong(await storage.list(namePrefix));
  await claim?.requireOwn();
  const number = nextNumber(before, job.above);
  const name = checkpointName(number, job.occasion.step);
  const records: Record<string, FileRecord> = {};
  for (const [file, bytes] of job.files) {
    records[file] = await recordOf(bytes);
    await storage.write(`${name}/${file}`, bytes);
  }
  await claim?.requireOwn();
  await storage.write(`${name}/${manifestName}`, encodeManifest(job.occasion, records));
  try {
    await claim?.requireOwn();
    await deleteSuperseded(storage, job.keep);
    return { name, number };
  } catch (error) {
    return { name, number, notDeleted: error instanceof Error ? error.message : String(error) };
  }
}

async function deleteSuperseded(storage: Storage, keep: number): Promise<void> {
  const entries = checkpointsAmong(await storage.list(namePrefix));
  for (const name of superseded(entries, keep)) {
    await storage.delete(`${name}/${manifestName}`);
    await storage.deleteFolder(name);
  }
}
