import type { Arrival, DistributedBuffer, DistributedModule, ProcessGroup } from '@ringrun/core';
import { ddpEvents } from './events.ts';
import { joinArrays, lengthOf, splitArray } from './joined-arrays.ts';
import { inStep } from './uneven-inputs.ts';

export function hasBuffers(module: DistributedModule): boolean {
  for (const _ of module.namedBuffers()) return true;
  return false;
}

/**
 * Broadcasts the buffers of rank `src` to every rank (torch: _sync_buffers). All buffers are sent as bytes in
 * one broadcast, so their dtypes may differ. Sends nothing for a model without buffers. A collective; it
 * blocks until the broadcast is complete.
 */
export function broadcastBuffersSync(group: ProcessGroup, module: DistributedModule, src = 0): void {
  const buffers = buffersOf(module).map(bytesOf);
  if (buffers.length === 0 || group.size === 1) return;
  const packed = allocateFor(buffers);
  if (group.rank === src) joinArrays(buffers, packed);
  group.broadcastSync(packed, { src });
  if (group.rank !== src) splitArray(packed, buffers);
}

/** Asynchronous broadcasts of one model's buffers. */
export class BufferBroadcasts {
  readonly #group: ProcessGroup;
  readonly #module: DistributedModule;
  /**
   * A buffer with `expect` always has the same array. It is cached here because reading `data` during a
   * broadcast would block.
   */
  readonly #bytes = new WeakMap<DistributedBuffer, Uint8Array>();
  #last: BufferBroadcast | undefined;

  constructor(group: ProcessGroup, module: DistributedModule) {
    this.#group = group;
    this.#module = module;
  }

  /**
   * Starts the broadcast when the model's pending operations have ended: a step that is not awaited changes the buffers
   * of rank 0 first. Later operations wait for it.
   *
   * @param stepOf returns the DDP step to name in errors
   */
  beginAfterPending(stepOf: () => number | undefined = () => undefined): void {
    const begin = () => {
      this.begin({ step: stepOf() });
    };
    if (!this.#module.afterPending) begin();
    // Later operations reject with the same error.
    else this.#module.afterPending(begin)?.catch(() => undefined);
  }

  /**
   * Starts the broadcast, in the order of the group's collectives. Later reads and writes of a buffer wait
   * for it. If a buffer has no `expect` (the model computes in `forward`), this call blocks until the
   * broadcast is complete.
   *
   * @param settings `src`: the rank that sends its buffers. Default: 0. `step`: the DDP step to name in
   * errors
   */
  begin({ src = 0, step }: BroadcastSettings = {}): void {
    const buffers = buffersOf(this.#module);
    if (buffers.length === 0 || this.#group.size === 1) return;
    if (!buffers.every((buffer) => 'expect' in buffer)) {
      this.#runSync({ src, step });
      return;
    }
    for (const buffer of buffers) buffer.toHost?.();
    const bytes = buffers.map((buffer) => this.#bytesOf(buffer));
    this.#last = new BufferBroadcast(this.#group, { bytes, before: this.#last, src, step });
    for (const buffer of buffers) buffer.expect?.(this.#last);
  }

  /** Like `begin`, but resolves when the broadcast is complete. */
  async run(settings?: BroadcastSettings): Promise<void> {
    this.begin(settings);
    await this.#last?.wait();
  }

  #runSync({ src, step }: BroadcastSettings): void {
    const since = performance.now();
    try {
      broadcastBuffersSync(this.#group, this.#module, src);
    } catch (error) {
      throw withStep(step, error);
    }
    ddpEvents.emit('waited', 'buffers', since, performance.now());
  }

  #bytesOf(buffer: DistributedBuffer): Uint8Array {
    const known = this.#bytes.get(buffer);
    if (known) return known;
    const bytes = bytesOf(buffer);
    this.#bytes.set(buffer, bytes);
    return bytes;
  }
}

interface BroadcastSettings {
  src?: number;
  step?: number | undefined;
}

interface Broadcast extends BroadcastSettings {
  /** The bytes of each buffer. */
  bytes: readonly Uint8Array[];
  /** The previous broadcast of the same buffers. */
  before: BufferBroadcast | undefined;
}

/** One broadcast. It writes the buffers when it completes. */
class BufferBroadcast implements Arrival {
  readonly #group: ProcessGroup;
  readonly #step: number | undefined;
  readonly #isSource: boolean;
  readonly #ended: Promise<void>;
  #bytes: readonly Uint8Array[];
  #packed: Uint8Array;
  #before: BufferBroadcast | undefined;
  #isComplete = false;
  #failure: Failure | undefined;
  #isAwaited = false;

  constructor(group: ProcessGroup, { bytes, before, src = 0, step }: Broadcast) {
    this.#group = group;
    this.#step = step;
    this.#isSource = group.rank === src;
    this.#bytes = bytes;
    this.#packed = allocateFor(bytes);
    this.#before = before;
    if (this.#isSource) {
      before?.waitSync();
      joinArrays(bytes, this.#packed);
    }
    this.#ended = group.broadcast(this.#packed, { src }).then(
      () => {
        this.#succeed();
      },
      (error: unknown) => {
        this.#failure = { error: withStep(step, error), isReported: false };
        this.#release();
      },
    );
  }

  /** The source rank already has the values. */
  get hasArrived(): boolean {
    return this.#isSource || (this.#isComplete && this.#failure === undefined);
  }

  wait(): Promise<void> | undefined {
    if (!this.#isComplete) return this.#waitUntilComplete();
    return this.#failure === undefined || this.#failure.isReported ? undefined : this.#waitUntilComplete();
  }

  /** The source rank does not wait: it already has the values. */
  waitSync(): void {
    if (this.#failure && !this.#failure.isReported) throw this.#reportFailure();
    if (this.#isComplete || this.#isSource) return;
    const since = performance.now();
    try {
      this.#group.settleSync();
    } catch (error) {
      throw withStep(this.#step, error);
    }
    ddpEvents.emit('waited', 'buffers', since, performance.now());
    this.#succeed();
  }

  async #waitUntilComplete(): Promise<void> {
    const isFirst = !this.#isAwaited;
    this.#isAwaited = true;
    const since = performance.now();
    await this.#ended;
    if (this.#failure) throw this.#reportFailure();
    if (isFirst) ddpEvents.emit('waited', 'buffers', since, performance.now());
  }

  #reportFailure(): Error {
    this.#failure!.isReported = true;
    return this.#failure!.error as Error;
  }

  /** Earlier broadcasts are complete too, but may not have been processed yet. */
  #succeed(): void {
    if (this.#isComplete) return;
    if (this.#before) this.#before.#succeed();
    if (!this.#isSource) splitArray(this.#packed, this.#bytes);
    this.#release();
  }

  #release(): void {
    this.#isComplete = true;
    this.#bytes = [];
    this.#packed = new Uint8Array();
    this.#before = undefined;
  }
}

interface Failure {
  readonly error: unknown;
  /** Whether a caller has received it. */
  isReported: boolean;
}

function withStep(step: number | undefined, error: unknown): unknown {
  return step === undefined ? error : inStep(step, error);
}

function buffersOf(module: DistributedModule): DistributedBuffer[] {
  return Array.from(module.namedBuffers(), ([, buffer]) => buffer);
}

function allocateFor(buffers: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(lengthOf(buffers));
}

export function bytesOf({ data }: DistributedBuffer): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
