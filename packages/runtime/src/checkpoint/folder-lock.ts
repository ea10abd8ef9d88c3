import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { loadNative } from '@ringrun/native';
import { makeFolder } from '../storage/make-folder.ts';
import { CheckpointError } from './checkpoint-error.ts';
import { decodeIdentity, describeIdentity, encodeIdentity, ownIdentity } from './writer-identity.ts';
import type { WriterIdentity } from './writer-identity.ts';

/*
 * One process writes checkpoints to a folder at a time: two would number them alike and delete each other's. The right to write is a lock of the kernel on the first byte of `writer.lock`, so that none is left
 * when its process ends, however it does; the file's content says who has it.
 */

const lockFile = 'writer.lock';
const lockedByte = 0;

/** Milliseconds that another job has to end: one may follow the other. */
const otherRunMs = 3000;

/** Milliseconds for the same job's workers of the round before: NFS servers keep the locks of a host that is lost for up to 90 s. */
const ownRunMs = 100_000;

const tryEveryMs = 100;

/** Milliseconds after which waiting is reported. */
const quietMs = 2000;

interface Lock {
  /** Undefined where the folder cannot be written to, as the write itself reports, or where its file system has no locks. */
  file: FileHandle | undefined;
}

/** Locks of this process, by folder, and how many use each: several checkpointers share one. */
const locks = new Map<string, { taken: Promise<Lock>; users: number }>();

/**
 * Takes the right to write to a folder, which is made.
 *
 * @returns what gives it back
 * @throws CheckpointError `ERR_CHECKPOINT_IN_USE` that names the process which has it
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const lock = locks.get(folder) ?? { taken: takeLock(folder), users: 0 };
  locks.set(folder, lock);
  lock.users += 1;
  const leave = () => {
    lock.users -= 1;
    if (lock.users === 0) locks.delete(folder);
  };
  try {
    const { file } = await lock.taken;
    return async () => {
      leave();
      if (lock.users === 0) await file?.close();
    };
  } catch (error) {
    leave();
    throw error;
  }
}

async function takeLock(folder: string): Promise<Lock> {
  const file = await openLockFile(folder);
  if (file === undefined) return { file };
  try {
    if (await takePatiently(folder, file)) {
      await sign(file);
      return { file };
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return { file: undefined };
}

/** On a full disk the lock holds without a name. */
async function sign(file: FileHandle): Promise<void> {
  const identity = encodeIdentity(ownIdentity);
  try {
    await file.write(identity, 0, identity.length, 0);
    await file.truncate(identity.length);
  } catch {
    // The write of the checkpoint reports it.
  }
}

async function openLockFile(folder: string): Promise<FileHandle | undefined> {
  try {
    await makeFolder(folder);
    return await open(join(folder, lockFile), constants.O_RDWR | constants.O_CREAT, 0o666);
  } catch {
    return undefined;
  }
}

/** False where the file system has no locks. */
async function takePatiently(folder: string, file: FileHandle): Promise<boolean> {
  const native = loadNative();
  const startedAt = performance.now();
  let isReported = false;
  for (;;) {
    try {
      if (native.tryLockByte(file.fd, lockedByte)) return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      say(
        `${folder} cannot be locked (${reason}): another job that writes checkpoints there would not be noticed.`,
      );
      return false;
    }
    const holder = await holderOf(file);
    const isOwnRun = holder !== undefined && holder.runId !== '' && holder.runId === ownIdentity.runId;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= (isOwnRun ? ownRunMs : otherRunMs)) throw inUse(folder, holder);
    if (waitedMs >= quietMs && !isReported) {
      say(`Checkpointer.save waits for ${describeIdentity(holder)}, which still writes to ${folder}.`);
      isReported = true;
    }
    await setTimeout(tryEveryMs);
  }
}

async function holderOf(file: FileHandle): Promise<WriterIdentity | undefined> {
  const bytes = Buffer.alloc(4096);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  return decodeIdentity(bytes.subarray(0, bytesRead));
}

export function inUse(location: string, holder: WriterIdentity | undefined): CheckpointError {
  return new CheckpointError(
    'in use',
    `${location} takes the checkpoints of one job, and another one writes there: ${describeIdentity(holder)}. Give each job a place of its own, or end that one first.`,
  );
}

function say(line: string): void {
  process.stderr.write(`ringrun: ${line}\n`);
}
