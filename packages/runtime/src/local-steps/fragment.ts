import type { CommHook, ElementRange, GradientBucket, ProcessGroup, Stateful } from '@ringrun/core';
import { HookStates } from '../ddp/hooks/hook-states.ts';
import type { Islands } from './islands.ts';

/** A part of the parameters, and the exchange of its differences between ranks. */
export class Fragment {
  readonly range: ElementRange;
  readonly #hook: CommHook;
  /** A hook knows its buckets by this list. */
  readonly #parameters: GradientBucket['parameters'] = [];
  /** This rank's differences, and after the exchange those of all ranks on average. Allocated by the group that exchanges them. */
  #data: Float32Array = new Float32Array();
  /** This rank's differences, if the exchange may be repeated. */
  readonly #own: Float32Array | undefined;
  readonly #states: HookStates | undefined;
  #started: { group: ProcessGroup | null; ended: Promise<void> } | undefined;
  /** Whether `#data` holds differences that have been written, and not applied. */
  #isUnderWay = false;
  /** Whether `#data` is the result of an exchange before a checkpoint. */
  #isRestored = false;
  /** The local step after which it was sent last. */
  sentAfter = 0;

  constructor(range: ElementRange, hook: CommHook, isRepeatable: boolean) {
    this.range = range;
    this.#hook = hook;
    if (!isRepeatable) return;
    this.#own = new Float32Array(range.end - range.begin);
    this.#states = new HookStates(hook);
  }

  /** Allocates the memory of the exchange. A collective of the ranks that exchange. */
  enterGroup(group: ProcessGroup | null): void {
    const length = this.range.end - this.range.begin;
    const before = this.#data;
    this.#data = group?.allocateSync('float32', length) ?? new Float32Array(length);
    if (before.length === length) this.#data.set(before);
  }

  /** Copies what the group's memory holds; the group is destroyed next. */
  leaveGroup(): void {
    this.#data = this.#data.slice();
  }

  /** What the transport keeps on this rank between two exchanges. */
  get transportState(): Stateful | undefined {
    return this.#hook.rankState;
  }

  get data(): Float32Array {
    return this.#data;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Writes this rank's differences. */
  fill(write: (data: Float32Array) => void): void {
    write(this.#data);
    this.#own?.set(this.#data);
    this.#isUnderWay = true;
  }

  /** Takes the result of an exchange that ended before a checkpoint. */
  restore(data: Float32Array): void {
    this.#data.set(data);
    this.#isUnderWay = true;
    this.#isRestored = true;
  }

  /** Starts the exchange on the ranks of `group`; null on a rank that takes no part. */
  start(group: ProcessGroup | null): void {
    this.#states?.beginStep();
    const ended = group === null ? Promise.resolve() : this.#hook(this.#bucket(), group);
    // It may reject long before it is awaited.
    ended.catch(() => undefined);
    this.#started = { group, ended };
  }

  /**
   * Ends the exchange in `group`, and starts it if it has not been started there. After a failure it is called again with another
   * group: it starts from this rank's own differences then.
   */
  async end(group: ProcessGroup | null): Promise<void> {
    if (this.#isRestored) return;
    if (this.#started?.group !== group) {
      if (this.#started !== undefined) {
        this.#data.set(this.#own!);
        await this.#states!.undoStep();
      }
      this.start(group);
    }
    await this.#started!.ended;
  }

  /** Gives all ranks of the island the result. A collective of the island. */
  async spread({ island }: Islands): Promise<void> {
    if (island !== null && island.size > 1) await island.broadcast(this.#data, { src: 0 });
  }

  /** The result has been applied. */
  complete(): void {
    this.#states?.commitStep();
    this.#started = undefined;
    this.#isUnderWay = false;
    this.#isRestored = false;
  }

  #bucket(): GradientBucket {
    const data = this.#data;
    return { index: 0, isLast: true, data, parameters: this.#parameters, gradients: () => [data] };
  }
}
