import { givenPath, InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { CallingStore, checkTimeout } from './calling-store.ts';
import type { Success } from './calling-store.ts';
import { nameKeys } from './errors.ts';
import { openPatiently } from './file/opening.ts';
import { Replica } from './file/replica.ts';
import { WaitReporter } from './wait-reporter.ts';
import type { Call } from './wire.ts';

/** Options of {@link FileStore.open}. */
export interface FileStoreOptions {
  /**
   * Number of processes of one run. Without it, the file is never removed, and every process that opens it finds its
   * keys.
   */
  worldSize?: number | undefined;
  /** Timeout in milliseconds of opening, and of each call without its own timeout. Default: 5 minutes, as in torch. */
  timeoutMs?: number | undefined;
  /** Name of this process in its log lines, such as `rank 1`. */
  who?: string;
  /** Describes missing keys in messages, such as `ranks 1 and 3 to join`. Default, and for undefined: `key "a"`. */
  describeKeys?: (keys: readonly string[]) => string | undefined;
  /** Receives the log lines about waits, and about a file left by a killed run. Default: writes to stderr. */
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
 * A `Store` in a file, for processes of one machine or of several that share a file system
 * (torch.distributed.FileStore). It needs no server and no port. The file system must support locks (`fcntl`), as local
 * ones and NFS do.
 *
 * With `worldSize`, the file belongs to one run: the last process to close the store removes it. A process that finds
 * the file of a killed run (no process has it open) clears it and logs that; if the other run is still active, it waits
 * for its end.
 *
 * Pending calls keep the process alive, an idle store does not. Calls that wait poll the file every 10 ms.
 */
export class FileStore extends CallingStore {
  /** Absolute path of the file. */
  readonly path: string;
  readonly #replica: Replica;

  private constructor(path: string, replica: Replica, timeoutMs: number) {
    super(timeoutMs);
    this.path = path;
    this.#replica = replica;
  }

  /**
   * Opens the file, creates it if needed, and joins its run.
   *
   * @throws InvalidArgumentError for an invalid world size or timeout; StoreTimeoutError if another run uses the file
   * for longer than `timeoutMs`; RingrunError `ERR_JOB_MISMATCH` if that run has another world size, `ERR_STORE_FILE`
   * if the file cannot be opened, written or locked, or is not a store.
   */
  static async open(path: string | URL, options: FileStoreOptions = {}): Promise<FileStore> {
    requireOptions('FileStore.open', options, optionNames);
    const { who, log = (line: string) => process.stderr.write(`${line}\n`) } = options;
    const timeoutMs = checkTimeout(options.timeoutMs ?? 300_000);
    const worldSize = checkWorldSize(options.worldSize);
    const lines = new WaitReporter(who, log);
    const opened = await openPatiently({
      path: givenPath(path, 'FileStore.open'),
      worldSize,
      timeoutMs,
      lines,
      log,
    });
    const describeKeys = (keys: readonly string[]) => options.describeKeys?.(keys) ?? nameKeys(keys);
    return new FileStore(opened.log.path, new Replica(opened, { lines, describeKeys }), timeoutMs);
  }

  /** Leaves the run; the last process to leave a complete run removes the file. Rejects pending calls. */
  close(): Promise<void> {
    return this.#replica.leave('left');
  }

  /** Undoes joining, so that another process can take this one's place in the run. */
  withdraw(): Promise<void> {
    return this.#replica.leave('withdrawn');
  }

  /** @internal */
  protected request(call: Call, timeoutMs: number): Promise<Success> {
    return this.#replica.request(call, timeoutMs);
  }
}

/** Default: 0, unknown. */
function checkWorldSize(worldSize: number | undefined): number {
  if (worldSize === undefined) return 0;
  if (Number.isInteger(worldSize) && worldSize >= 1) return worldSize;
  throw new InvalidArgumentError(
    `FileStore's worldSize is ${worldSize}, expected an integer of at least 1: the number of processes that open the file.`,
  );
}
