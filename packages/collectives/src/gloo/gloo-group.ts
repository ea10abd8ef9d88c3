import type { NativeProcessGroup } from '@ringrun/native';
import { nativeDType } from '@ringrun/native';

import type { DType, TypedArray, TypedArrayOf } from '../dtype.ts';
import { typedArrayClass } from '../dtype.ts';
import type { RankIdentity } from '../errors.ts';
import { RingrunError } from '../errors.ts';
import type {
  AllReduceOptions,
  BroadcastOptions,
  CollectiveOptions,
  ProcessGroup,
} from '../process-group.ts';
import { ReduceOp } from '../reduce-op.ts';
import {
  checkedDType,
  checkedDTypeOf,
  checkedLength,
  checkedRank,
  checkedReduceOp,
  checkedTimeout,
} from './arguments.ts';
import { isNativeFailure, translateFailure } from './failure.ts';
import type { Transport } from './transport.ts';

/** A process group whose data plane is the addon: arguments are checked here, errors translated, everything else is native. */
export class GlooGroup implements ProcessGroup {
  readonly rank: number;
  readonly size: number;
  readonly backend = 'gloo';
  readonly transport: Transport;
  readonly #native: NativeProcessGroup;
  readonly #identities: readonly RankIdentity[];
  readonly #timeoutMs: number;
  #firstFailure: RingrunError | undefined;
  #destroyed: Promise<void> | undefined;

  /** `native` is connected. `identities`: who is who, by rank. */
  constructor(
    native: NativeProcessGroup,
    settings: { rank: number; transport: Transport; identities: readonly RankIdentity[]; timeoutMs: number },
  ) {
    this.#native = native;
    this.rank = settings.rank;
    this.size = settings.identities.length;
    this.transport = settings.transport;
    this.#identities = settings.identities;
    this.#timeoutMs = settings.timeoutMs;
  }

  allocateSync<T extends DType>(dtype: T, length: number): TypedArrayOf[T] {
    const number = checkedDType(dtype);
    const elements = checkedLength(length);
    return this.#now(
      () => new typedArrayClass[dtype](this.#native.allocateSync(number, elements, this.#timeoutMs)),
    );
  }

  async allReduce(tensor: TypedArray, options: AllReduceOptions = {}): Promise<void> {
    const dtype = checkedDTypeOf(tensor);
    const op = checkedReduceOp(options.op ?? ReduceOp.SUM, dtype);
    const timeoutMs = this.#timeoutOf(options);
    await this.#later(() => this.#native.allReduce(tensor, nativeDType[dtype], op, timeoutMs));
  }

  allReduceSync(tensor: TypedArray, options: AllReduceOptions = {}): void {
    const dtype = checkedDTypeOf(tensor);
    const op = checkedReduceOp(options.op ?? ReduceOp.SUM, dtype);
    const timeoutMs = this.#timeoutOf(options);
    this.#now(() => {
      this.#native.allReduceSync(tensor, nativeDType[dtype], op, timeoutMs);
    });
  }

  async broadcast(tensor: TypedArray, options: BroadcastOptions = {}): Promise<void> {
    const dtype = checkedDTypeOf(tensor);
    const src = checkedRank('src', options.src ?? 0, this.size);
    const timeoutMs = this.#timeoutOf(options);
    await this.#later(() => this.#native.broadcast(tensor, nativeDType[dtype], src, timeoutMs));
  }

  broadcastSync(tensor: TypedArray, options: BroadcastOptions = {}): void {
    const dtype = checkedDTypeOf(tensor);
    const src = checkedRank('src', options.src ?? 0, this.size);
    const timeoutMs = this.#timeoutOf(options);
    this.#now(() => {
      this.#native.broadcastSync(tensor, nativeDType[dtype], src, timeoutMs);
    });
  }

  async barrier(options: CollectiveOptions = {}): Promise<void> {
    const timeoutMs = this.#timeoutOf(options);
    await this.#later(() => this.#native.barrier(false, timeoutMs));
  }

  barrierSync(options: CollectiveOptions = {}): void {
    const timeoutMs = this.#timeoutOf(options);
    this.#now(() => {
      this.#native.barrierSync(false, timeoutMs);
    });
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#native.destroy(this.#timeoutMs).catch((error: unknown) => {
      throw this.#translated(error);
    });
    return this.#destroyed;
  }

  #timeoutOf(options: CollectiveOptions): number {
    return options.timeoutMs === undefined ? this.#timeoutMs : checkedTimeout(options.timeoutMs);
  }

  #now<Result>(operate: () => Result): Result {
    this.#refuseUnlessUsable();
    try {
      return operate();
    } catch (error) {
      throw this.#translated(error);
    }
  }

  async #later(operate: () => Promise<void>): Promise<void> {
    this.#refuseUnlessUsable();
    try {
      await operate();
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #refuseUnlessUsable(): void {
    if (this.#firstFailure) throw this.#firstFailure;
    if (this.#destroyed) {
      throw new RingrunError(
        'ERR_GROUP_DESTROYED',
        'this group was destroyed: create another one, or destroy it later',
      );
    }
  }

  /** The addon repeats its first failure for whatever follows; so does the group, with one and the same error. */
  #translated(error: unknown): unknown {
    if (!isNativeFailure(error)) return error;
    this.#firstFailure ??= translateFailure(error, this.#identities[this.rank], this.#identities);
    return this.#firstFailure;
  }
}
