import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration, RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Success } from '../calling-store.ts';
import { describeCall, keysOf, missingKeysError, refusedError } from '../errors.ts';
import { KeyValueState } from '../key-value-state.ts';
import type { AddressedReply } from '../key-value-state.ts';
import type { WaitReporter } from '../wait-reporter.ts';
import { decodeRequest, encodeRequest, readingCalls } from '../wire.ts';
import type { Call, Failure, Request } from '../wire.ts';
import type { OpenedFile } from './opening.ts';
import type { FileRecord } from './record.ts';
import { isLast } from './roll.ts';

/** Milliseconds between two polls of the file, as in torch. */
const lookEveryMs = 10;
/** Milliseconds between two attempts to lock the file for writing. Writers hold the lock for microseconds. */
const tryEveryMs = 1;
/** Milliseconds beyond a call's timeout that it may wait for other writers. */
const graceMs = 1000;
/** Milliseconds that leaving may wait for the lock. A process that leaves without it counts as killed. */
const leavingMs = 5000;

interface PendingCall {
  id: number;
  call: Call;
  timeoutMs: number;
  startedAt: number;
  resolve: (result: Success) => void;
  reject: (error: Error) => void;
}

export interface ReplicaOptions {
  lines: WaitReporter;
  describeKeys: (keys: readonly string[]) => string;
}

/**
 * This process's copy of the state in a file. Writing calls are appended to the file and applied in the file's order,
 * as in every process. Reading calls are answered from the copy after it has read the whole file.
 *
 * Calls are executed in order, except that calls that wait for keys do not block others. The file is polled while calls
 * are pending.
 */
export class Replica {
  readonly #opened: OpenedFile;
  readonly #options: ReplicaOptions;
  readonly #state: KeyValueState;
  readonly #name: string;
  /** Calls that were not executed yet. */
  #queue: PendingCall[] = [];
  /** All calls that were not answered yet. */
  readonly #pending = new Map<number, PendingCall>();
  #nextId = 1;
  #working: Promise<void> | undefined;
  /** The error of all further calls, once the store has ended. */
  #ended: RingrunError | undefined;
  #left: Promise<void> | undefined;
  /** Ends the sleep between two turns early. */
  #alarm = new AbortController();

  constructor(opened: OpenedFile, options: ReplicaOptions) {
    this.#opened = opened;
    this.#options = options;
    this.#state = new KeyValueState(opened.client);
    this.#name = `the store in the file ${opened.log.path}`;
    for (const record of opened.records) {
      if (record.entry === 'request') this.#take(record);
    }
  }

  /** See `CallingStore.request`. */
  request(call: Call, timeoutMs: number): Promise<Success> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#nextId++;
    // Copied, because the caller may change its array afterwards.
    const fixed = decodeRequest(encodeRequest({ id, call })).call;
    return new Promise((resolve, reject) => {
      const pending = { id, call: fixed, timeoutMs, startedAt: performance.now(), resolve, reject };
      this.#queue.push(pending);
      this.#pending.set(id, pending);
      this.#alarm.abort();
      this.#working ??= this.#work();
    });
  }

  /** Rejects pending calls and leaves the run; `withdrawn` undoes joining. */
  async leave(how: 'left' | 'withdrawn'): Promise<void> {
    this.#ended = new RingrunError('ERR_STORE_CLOSED', `This process has closed ${this.#name}.`);
    this.#rejectAll(this.#ended);
    await (this.#left ??= this.#signOffAndClose(how));
  }

  async #signOffAndClose(how: 'left' | 'withdrawn'): Promise<void> {
    await this.#working;
    try {
      if (await this.#takePenPatiently()) await this.#signOff(how);
    } catch (error) {
      // A file that was removed or replaced needs no record.
      if (!(error instanceof RingrunError)) throw error;
    } finally {
      await this.#opened.log.close();
    }
  }

  async #work(): Promise<void> {
    try {
      while (this.#pending.size > 0) {
        const hadTurn = await this.#takeTurns();
        const waitMs = hadTurn ? this.#msToNextLook() : tryEveryMs;
        this.#giveUpOverdue();
        this.#reportMissing(hadTurn);
        if (this.#queue.length === 0 || !hadTurn) await this.#sleep(waitMs);
      }
    } catch (error) {
      this.#ended ??= error as RingrunError;
      this.#rejectAll(this.#ended);
    }
    // Must be in the same turn of the event loop as the check of #pending, so that the next call starts a new loop.
    this.#working = undefined;
  }

  /** Executes the queued calls; false if another process holds the lock. */
  async #takeTurns(): Promise<boolean> {
    const writes = this.#queue.some(({ call }) => !readingCalls.has(call.op));
    if (!writes) {
      const turns = this.#queue.splice(0);
      await this.#readOn();
      this.#handle(turns);
      return true;
    }
    const { log } = this.#opened;
    if (!log.tryTakePen()) return false;
    try {
      const turns = this.#queue.splice(0);
      await this.#readOn();
      await log.append(
        turns.filter(({ call }) => !readingCalls.has(call.op)).map((turn) => this.#record(turn)),
      );
      this.#handle(turns);
      return true;
    } finally {
      log.returnPen();
    }
  }

  async #readOn(): Promise<void> {
    for (const record of await this.#opened.log.read()) this.#take(record);
  }

  #record({ id, call }: PendingCall): FileRecord {
    return { client: this.#opened.client, entry: 'request', request: encodeRequest({ id, call }) };
  }

  /** Applies a record of another process. */
  #take(record: FileRecord): void {
    if (record.entry !== 'request') {
      this.#opened.roll.take(record);
      return;
    }
    const request = this.#requestOf(record.request);
    this.#deliver(this.#state.handle(record.client, request, performance.now()));
  }

  #requestOf(bytes: Uint8Array): Request {
    try {
      return decodeRequest(bytes);
    } catch (cause) {
      throw this.#opened.log.invalid(cause);
    }
  }

  #handle(turns: readonly PendingCall[]): void {
    for (const { id, call } of turns) {
      this.#deliver(this.#state.handle(this.#opened.client, { id, call }, performance.now()));
    }
  }

  #deliver(replies: readonly AddressedReply[]): void {
    for (const { client, reply } of replies) {
      if (client !== this.#opened.client) continue;
      const pending = this.#settle(reply.id);
      if (reply.result.kind === 'failure') pending?.reject(this.#errorOf(pending, reply.result));
      else pending?.resolve(reply.result);
    }
  }

  #errorOf({ call, timeoutMs }: PendingCall, failure: Failure): Error {
    if (failure.reason !== 'TIMEOUT') return refusedError(`In ${this.#name}`, failure);
    const missing = this.#options.describeKeys(failure.missingKeys);
    return missingKeysError(this.#name, call, timeoutMs, failure.missingKeys, missing);
  }

  /**
   * Rejects calls that wait for keys too long, and calls that could not be executed because another process holds the
   * lock.
   */
  #giveUpOverdue(): void {
    const now = performance.now();
    this.#deliver(this.#state.expire(now));
    const overdue = this.#queue.filter(({ startedAt, timeoutMs }) => now - startedAt >= timeoutMs + graceMs);
    this.#queue = this.#queue.filter((turn) => !overdue.includes(turn));
    for (const { id, call, timeoutMs } of overdue) {
      this.#settle(id)?.reject(notWritten(this.#opened.log.path, call, timeoutMs));
    }
  }

  #reportMissing(hadTurn: boolean): void {
    const oldest = this.#pending.values().next().value;
    const missing = this.#state.missingOf(this.#opened.client);
    if (!oldest || (hadTurn && missing.length === 0)) return;
    const what =
      missing.length > 0
        ? `${this.#options.describeKeys(missing)}, in the file ${this.#opened.log.path}`
        : `another process to finish writing to the file ${this.#opened.log.path}`;
    this.#options.lines.report(what, oldest.startedAt, oldest.timeoutMs);
  }

  #msToNextLook(): number {
    return Math.min(lookEveryMs, Math.max(this.#state.nextDeadline() - performance.now(), 0));
  }

  async #sleep(ms: number): Promise<void> {
    this.#alarm = new AbortController();
    if (this.#pending.size === 0 || this.#ended) return;
    await sleep(ms, undefined, { signal: this.#alarm.signal }).catch(() => undefined);
  }

  async #takePenPatiently(): Promise<boolean> {
    const deadline = performance.now() + leavingMs;
    while (!this.#opened.log.tryTakePen()) {
      if (performance.now() >= deadline) return false;
      await sleep(tryEveryMs);
    }
    return true;
  }

  /** The caller holds the write lock and releases it by closing the file. */
  async #signOff(how: 'left' | 'withdrawn'): Promise<void> {
    const { log, roll, client } = this.#opened;
    await this.#readOn();
    const self = roll.members.find((member) => member.client === client)!;
    if (isLast(roll.members, self, how, ({ index }) => log.isLiving(index))) await log.remove();
    else await log.append([{ client, entry: how }]);
  }

  #settle(id: number): PendingCall | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #rejectAll(error: RingrunError): void {
    this.#queue = [];
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(error);
    this.#alarm.abort();
  }
}

function notWritten(path: string, call: Call, timeoutMs: number): StoreTimeoutError {
  return new StoreTimeoutError(
    keysOf(call),
    `${describeCall(call)} timed out after ${formatDuration(timeoutMs)}: another process keeps the file ${path} locked. ` +
      `Look for a process of this job that was stopped during a write, and check that the file system responds.`,
  );
}
