import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { makeFolder } from '@ringrun/core';
import { loadNative } from '@ringrun/native';
import { systemCode } from '../storage/directory-errors.ts';
import { CheckpointError } from './checkpoint-error.ts';
import { log } from './log.ts';
import { decodeIdentity, describeIdentity, encodeIdentity, ownIdentity } from './writer-identity.ts';
import { removeIncomplete } from './remove-incomplete.ts';
import type { WriterIdentity } from './writer-identity.ts';

/*
 * Only one process at a time may write checkpoints to a folder: two would use the same numbers and delete
 * each other's checkpoints. The lock is a kernel lock on the first byte of `writer.lock`, so it is released
 * whenever its process ends. The file contains the holder's identity.
 */

/** Name of the lock file, next to the checkpoints. */
export const lockFile = 'writer.lock';
const lockedByte = 0;

/** Milliseconds to wait for another job's lock, since one job may directly follow another. */
const otherRunMs = 3000;

/**
 * Milliseconds to wait for a lock of the same job's previous workers: NFS servers keep the locks of a lost
 * host for up to 90 s.
 */
const ownRunMs = 100_000;

const tryEveryMs = 100;

/** Milliseconds after which waiting is logged. */
const logAfterMs = 2000;

interface Lock {
  /**
   * Undefined if the file system has no locks, or if the folder is not writable, which the write of the
   * checkpoint reports.
   */
  file: FileHandle | undefined;
}

/** Locks of this process by folder, with the number of checkpointers that share each. */
const locks = new Map<string, { opened: Promise<Lock>; users: number }>();

/**
 * Locks a folder for writing, and creates it if it does not exist. Deletes incomplete checkpoints, which only a killed
 * writer or a full disk leaves.
 *
 * @returns a function that releases the lock
 * @throws CheckpointError `ERR_CHECKPOINT_IN_USE` that names the process which holds the lock;
 * `ERR_CHECKPOINT_NOT_WRITTEN` if the lock file is a symbolic link
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const lock = locks.get(folder) ?? { opened: openAndLock(folder), users: 0 };
  locks.set(folder, lock);
  lock.users += 1;
  const drop = () => {
    lock.users -= 1;
    if (lock.users === 0) locks.delete(folder);
  };
  try {
    const { file } = await lock.opened;
    return async () => {
      drop();
      if (lock.users === 0) await file?.close();
    };
  } catch (error) {
    drop();
    throw error;
  }
}

async function openAndLock(folder: string): Promise<Lock> {
  const file = await openLockFile(folder);
  if (file === undefined) return { file };
  try {
    if (await acquireLock(folder, file)) {
      await writeIdentity(file);
      await removeIncomplete(folder);
      return { file };
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return { file: undefined };
}

/** Writes the holder's identity. On a full disk the lock is valid without it. */
async function writeIdentity(file: FileHandle): Promise<void> {
  const identity = encodeIdentity(ownIdentity);
  try {
    await file.write(identity, 0, identity.length, 0);
    await file.truncate(identity.length);
  } catch {
    // The write of the checkpoint reports the error.
  }
}

/** The identity is written into the file, so a link is not followed, and a pipe or a device is not opened. */
const openFlags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function openLockFile(folder: string): Promise<FileHandle | undefined> {
  const path = join(folder, lockFile);
  try {
    await makeFolder(folder);
    const file = await open(path, openFlags, 0o666);
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (error) {
    if (systemCode(error) !== 'ELOOP') return undefined;
  }
  throw new CheckpointError(
    'not written',
    `locking ${folder}: expected ${path} to be a file, got a symbolic link or a device. Delete it.`,
  );
}

/** Returns false if the file system has no locks. */
async function acquireLock(folder: string, file: FileHandle): Promise<boolean> {
  const native = loadNative();
  const startedAt = performance.now();
  let isReported = false;
  for (;;) {
    try {
      if (native.tryLockByte(file.fd, lockedByte)) return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log(
        `${folder} cannot be locked (${reason}): another job that writes checkpoints to it would not be detected.`,
      );
      return false;
    }
    const holder = await holderOf(file);
    const isOwnRun = holder !== undefined && holder.runId !== '' && holder.runId === ownIdentity.runId;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= (isOwnRun ? ownRunMs : otherRunMs)) throw inUse(folder, holder);
    if (waitedMs >= logAfterMs && !isReported) {
      log(
        `Checkpointer.save is waiting for ${describeIdentity(holder)}, which is still writing to ${folder}.`,
      );
      isReported = true;
    }
    await setTimeout(tryEveryMs);
  }
}

/** An id of a run has at most 4 KiB, which JSON makes up to six times as long. */
const maxIdentityBytes = 64 * 1024;

async function holderOf(file: FileHandle): Promise<WriterIdentity | undefined> {
  const bytes = Buffer.alloc(maxIdentityBytes);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  return decodeIdentity(bytes.subarray(0, bytesRead));
}

export function inUse(location: string, holder: WriterIdentity | undefined): CheckpointError {
  return new CheckpointError(
    'in use',
    `${location} is in use by another writer of checkpoints: ${describeIdentity(holder)}. Use a separate location for each job, or stop that process first.`,
  );
}
