import { InvalidArgumentError, requireOptions, type OptionNames } from '@ringrun/collectives';
import { CallingStore, checkTimeout } from './calling-store.ts';
import type { Success } from './calling-store.ts';
import { nameKeys } from './errors.ts';
import { openPatiently } from './file/opening.ts';
import { Replica } from './file/replica.ts';
import { WaitingLines } from './waiting-lines.ts';
import type { Call } from './wire.ts';

export interface FileStoreOptions {
  /** Processes that open the file for one run. Without it the file stays until somebody removes it, and whoever opens it finds what is there. */
  worldSize?: number | undefined;
  /** Milliseconds until opening, and each call that names no time of its own, gives up; 5 minutes unless given, as torch's stores. */
  timeoutMs?: number | undefined;
  /** Who waits, for the lines that say so, such as `rank 1`. */
  who?: string;
  /** What a person calls missing keys, such as `ranks 1 and 3 to join`; `key "a"` unless given, or where it returns undefined. */
  describeKeys?: (keys: readonly string[]) => string | undefined;
  /** Takes the lines that say what is waited for, and that a run which was killed has left the file; stderr unless given. */
  log?: (line: string) => void;
}

const optionNames: OptionNames<FileStoreOptions> = {
  worldSize: true,
  timeoutMs: true,
  who: true,
  describeKeys: true,
  log: true,
};

/**
 * A `Store` in a file, between processes of one machine or of several that share a file system (torch.distributed.FileStore): nobody hosts it, and no port
 * is needed. The file system must have locks (`fcntl`), as local ones and NFS do.
 *
 * With `worldSize`, the file belongs to one run: the last of its processes to close the store removes it. One that finds a file there knows a run that was
 * killed (no process has it open any more: it starts afresh, and says so) from one that goes on (it waits for its end). Torch's fails there in ways of its own.
 *
 * Calls under way keep the process alive, an idle store does not. Those that wait look at the file every 10 ms.
 */
export class FileStore extends CallingStore {
  readonly path: string;
  readonly #replica: Replica;

  private constructor(path: string, replica: Replica, timeoutMs: number) {
    super(timeoutMs);
    this.path = path;
    this.#replica = replica;
  }

  /**
   * Opens the file, which is made when it is not there, and counts this process among those of its run.
   *
   * @throws InvalidArgumentError for a world size or a time that is none; StoreTimeoutError when another run uses the file for longer than `timeoutMs`;
   * RingrunError `ERR_JOB_MISMATCH` when that run has another world size, `ERR_STORE_FILE` when the file cannot be opened, written or locked, or is none of a store.
   */
  static async open(path: string, options: FileStoreOptions = {}): Promise<FileStore> {
    requireOptions('FileStore.open', options, optionNames);
    const { who, log = (line: string) => process.stderr.write(`${line}\n`) } = options;
    const timeoutMs = checkTimeout(options.timeoutMs ?? 300_000);
    const worldSize = checkWorldSize(options.worldSize);
    const lines = new WaitingLines(who, log);
    const opened = await openPatiently({ path, worldSize, timeoutMs, lines, log });
    const describeKeys = (keys: readonly string[]) => options.describeKeys?.(keys) ?? nameKeys(keys);
    return new FileStore(opened.log.path, new Replica(opened, { lines, describeKeys }), timeoutMs);
  }

  /** Leaves the file to the others, or removes it when all have come and this is the last one to leave. Calls under way are rejected. */
  close(): Promise<void> {
    return this.#replica.leave('left');
  }

  /** Leaves as if it had not come, so that another process can take its place: for one that finds that it does not belong to the run. */
  withdraw(): Promise<void> {
    return this.#replica.leave('withdrawn');
  }

  protected request(call: Call, timeoutMs: number): Promise<Success> {
    return this.#replica.request(call, timeoutMs);
  }
}

/** 0 where none is given. */
function checkWorldSize(worldSize: number | undefined): number {
  if (worldSize === undefined) return 0;
  if (Number.isInteger(worldSize) && worldSize >= 1) return worldSize;
  throw new InvalidArgumentError(
    `FileStore's worldSize is ${worldSize}, expected an integer of at least 1: the number of processes that open the file.`,
  );
}
