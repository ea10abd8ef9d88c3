import {
  nativeAllReduce,
  nativeExchange,
  type NativePreparedOperation,
  type NativeProcessGroup,
} from '@ringrun/native';

import {
  collectives,
  InvalidArgumentError,
  messageOptions,
  PromisedWork,
  requireOptions,
  RingrunError,
  typedArrayClass,
} from '@ringrun/core';
import type {
  CollectiveBuffer,
  CollectiveName,
  CollectiveOptions,
  Collectives,
  DestinationOption,
  DType,
  PreparedCollective,
  PreparesCollectives,
  ProcessGroup,
  RecvOptions,
  ReduceOp,
  SendOptions,
  SourceOption,
  StartableOperation,
  TypedArrayOf,
  Work,
} from '@ringrun/core';
import type { ByteCollectives, ObjectCollective } from '../objects.ts';
import { runAsync, runSync, syncByteCollectives } from '../objects.ts';
import type { Place } from './arguments.ts';
import { checkedDType, checkedLength, checkedRank, checkedTimeout, refuseResizable } from './arguments.ts';
import type { NativeCalls } from './native-calls.ts';
import type { NativeOperation } from './native-collectives.ts';
import { nativeCollectives, steppedCollectives } from './native-collectives.ts';
import { allReduceOperands, receiveOperands, sendOperands } from './operands.ts';
import { Turns } from './turns.ts';

type ObjectOptions = CollectiveOptions & SourceOption & DestinationOption;

export interface GroupSettings {
  rank: number;
  size: number;
  backend: ProcessGroup['backend'];
  transport: ProcessGroup['transport'];
  /** Default timeout of operations, in milliseconds. */
  timeoutMs: number;
}

/** An all-reduce that a library starts, and the memory that receives its input. */
interface PreparedAllReduce extends StartableOperation {
  readonly copy: Float32Array | undefined;
}

/** What runs the collectives of a `NativeGroup`, and everything else in it. */
class NativeGroupBase implements PreparesCollectives {
  /** Rank of this process in the group, from 0. */
  readonly rank: number;
  /** Number of processes in the group. */
  readonly size: number;
  /** `gloo`: CPU; `nccl`: GPU. */
  readonly backend: ProcessGroup['backend'];
  /** How data is transferred. See {@link ProcessGroup.transport}. */
  readonly transport: ProcessGroup['transport'];
  readonly #timeoutMs: number;
  readonly #calls: NativeCalls;
  readonly #turns = new Turns();
  readonly #prepared = new WeakMap<Float32Array, Map<ReduceOp, PreparedAllReduce>>();
  #barrier: StartableOperation | undefined;
  readonly #leaving = new Set<WeakRef<LeavesGroup>>();
  readonly #collected = new FinalizationRegistry<WeakRef<LeavesGroup>>((reference) => {
    this.#leaving.delete(reference);
  });
  #turnless: NativeGroup | undefined;
  #destroyed: Promise<void> | undefined;

  /**
   * @param calls Calls of a connected native group.
   * @internal
   */
  constructor(calls: NativeCalls, { rank, size, backend, transport, timeoutMs }: GroupSettings) {
    this.#calls = calls;
    this.rank = rank;
    this.size = size;
    this.backend = backend;
    this.transport = transport;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * True after the first failed operation: no further operation runs.
   *
   * @internal
   */
  get hasFailed(): boolean {
    return this.#calls.hasFailed;
  }

  /**
   * Resolves when every rank has called it, as a collective named newGroup.
   *
   * @internal
   */
  async beginNewGroup(timeoutMs: number): Promise<void> {
    await this.later({ timeoutMs }, (native, limitMs) => native.newGroup(limitMs));
  }

  /** See the function `prepareAllReduce`. */
  prepareAllReduce(data: Float32Array, op: ReduceOp, copy?: Float32Array): StartableOperation | undefined {
    if (!this.mayStartCollectives) return undefined;
    const ofData = this.#prepared.get(data) ?? new Map<ReduceOp, PreparedAllReduce>();
    const known = ofData.get(op);
    if (known !== undefined && known.copy === copy) return known;
    const prepared = this.#prepareNow(data, op, copy);
    this.#prepared.set(data, ofData.set(op, prepared));
    return prepared;
  }

  /**
   * Whether a collective could be started without JavaScript now. See {@link PreparesCollectives}.
   *
   * @internal
   */
  get mayStartCollectives(): boolean {
    return this.backend === 'gloo' && !this.#calls.hasFailed && !this.#destroyed && !this.#turns.isUnderWay;
  }

  /**
   * See {@link PreparesCollectives}.
   *
   * @internal
   */
  prepareCollective(name: 'allReduce' | 'allGather', length: number): PreparedCollective {
    const op = name === 'allReduce' ? nativeAllReduce : nativeExchange.allGather;
    const { operation, input, output } = this.#calls.now((group) =>
      group.prepareWithMemory(op, checkedLength(length), this.#timeoutMs),
    );
    return { native: operation, input, output, ended: () => this.#ended(operation) };
  }

  /** See the function `prepareBarrier`. */
  prepareBarrier(): StartableOperation | undefined {
    if (!this.mayStartCollectives) return undefined;
    if (this.#barrier !== undefined) return this.#barrier;
    const native = this.#calls.now((group) => group.prepareBarrier(false, this.#timeoutMs));
    return (this.#barrier = { native, ended: () => this.#ended(native) });
  }

  #ended(operation: NativePreparedOperation): Promise<void> | undefined {
    const end = this.#calls.now((group) => group.ended(operation));
    return end && this.#calls.later(() => end);
  }

  #prepareNow(data: Float32Array, op: ReduceOp, copy: Float32Array | undefined): PreparedAllReduce {
    const operands = allReduceOperands(data, { op });
    const native = this.#calls.now((group) => group.prepareAllReduce(...operands, this.#timeoutMs, copy));
    return { native, copy, ended: () => this.#ended(native) };
  }

  /** See the function of this name. */
  shareMemorySync(length: number, timeoutMs = this.#timeoutMs): HostMemory {
    const { buffer, place, ranks } = this.#now({ timeoutMs }, (native, limitMs) =>
      native.allocateForHostSync(checkedDType('float32'), checkedLength(length), limitMs),
    );
    return { data: new Float32Array(buffer), place, ranks };
  }

  /** See the function of this name. */
  slicesOfRanks(data: Float32Array): readonly Float32Array[] | undefined {
    const dtype = checkedDType('float32');
    const buffers = this.#calls.now((native) => native.slicesOfSync(data, dtype, this.#timeoutMs));
    return buffers?.map((buffer) => (buffer === null ? data : new Float32Array(buffer)));
  }

  /** See the function `whenDestroyed`. */
  addLeaving(one: LeavesGroup): void {
    const reference = new WeakRef(one);
    this.#leaving.add(reference);
    this.#collected.register(one, reference);
  }

  /** Returns a zeroed array that the transport reduces in place. See {@link ProcessGroup.allocateSync}. */
  allocateSync<T extends DType>(dtype: T, length: number): TypedArrayOf[T] {
    const number = checkedDType(dtype);
    const elements = checkedLength(length);
    return this.#now(
      {},
      (native, timeoutMs) => new typedArrayClass[dtype](native.allocateSync(number, elements, timeoutMs)),
    );
  }

  /** Sends a message to rank `dst`. See {@link ProcessGroup.send}. */
  async send(tensor: CollectiveBuffer, dst: number, options: SendOptions = {}): Promise<void> {
    await this.isend(tensor, dst, options).wait();
  }

  sendSync(tensor: CollectiveBuffer, dst: number, options: SendOptions = {}): void {
    this.checkOptions('sendSync', options, messageOptions.send);
    const operands = sendOperands(this, tensor, dst, options);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    this.#calls.now((native) => {
      native.sendSync(...operands, timeoutMs);
    });
  }

  isend(tensor: CollectiveBuffer, dst: number, options: SendOptions = {}): Work {
    this.checkOptions('isend', options, messageOptions.send);
    const operands = sendOperands(this, tensor, dst, options);
    refuseResizable(tensor);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    return new PromisedWork(this.#calls.later((native) => native.send(...operands, timeoutMs)));
  }

  /** Receives a message. See {@link ProcessGroup.recv}. */
  async recv(tensor: CollectiveBuffer, options: RecvOptions = {}): Promise<number> {
    return await this.irecv(tensor, options).wait();
  }

  recvSync(tensor: CollectiveBuffer, options: RecvOptions = {}): number {
    this.checkOptions('recvSync', options, messageOptions.recv);
    const operands = receiveOperands(this, tensor, options);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    return this.#calls.now((native) => native.receiveSync(...operands, timeoutMs));
  }

  irecv(tensor: CollectiveBuffer, options: RecvOptions = {}): Work<number> {
    this.checkOptions('irecv', options, messageOptions.recv);
    const operands = receiveOperands(this, tensor, options);
    refuseResizable(tensor);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    return new PromisedWork(this.#calls.later((native) => native.receive(...operands, timeoutMs)));
  }

  /** Blocks until all collectives issued on this group have completed. See {@link ProcessGroup.settleSync}. */
  settleSync(): void {
    this.#refuseUnlessUsable();
    this.#turns.refuseWhileUnderWay();
    this.#calls.now((native) => {
      native.settleSync();
    });
  }

  /** Waits for pending operations on every rank, then releases everything. See {@link ProcessGroup.destroy}. */
  destroy(): Promise<void> {
    this.#destroyed ??= this.#turns
      .inOrder(() => this.#calls.later((native) => native.destroy(this.#timeoutMs)))
      .finally(() => {
        for (const one of this.#leaving) one.deref()?.leaveGroup();
        this.#leaving.clear();
      });
    return this.#destroyed;
  }

  async #runObjectAsync(
    options: ObjectOptions,
    stepsOf: (group: ByteCollectives) => ObjectCollective<unknown>,
  ): Promise<unknown> {
    this.#checkObjectOptions(options);
    this.#refuseUnlessUsable();
    return await this.#turns.severalSteps(() => runAsync(stepsOf(this.#inThisTurn())));
  }

  /** Checked before the first step: otherwise the other ranks would start the second step and wait. */
  #checkObjectOptions(options: ObjectOptions): void {
    checkedRank('src', options.src ?? 0, this.size);
    checkedRank('dst', options.dst ?? 0, this.size);
    this.#timeoutOf(options);
  }

  /** The same group, for the steps of an operation that already has its turn. */
  #inThisTurn(): NativeGroup {
    const { rank, size, backend, transport } = this;
    const settings = { rank, size, backend, transport, timeoutMs: this.#timeoutMs };
    this.#turnless ??= new NativeGroup(this.#calls, settings);
    return this.#turnless;
  }

  #timeoutOf(options: CollectiveOptions): number {
    return options.timeoutMs === undefined ? this.#timeoutMs : checkedTimeout(options.timeoutMs);
  }

  #now<Result>(
    options: CollectiveOptions,
    operate: (native: NativeProcessGroup, timeoutMs: number, blocking: true) => Result,
  ): Result {
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    this.#turns.refuseWhileUnderWay();
    return this.#calls.now((native) => operate(native, timeoutMs, true));
  }

  /** Runs an operation in its turn, with the timeout of the options or the group. */
  protected async later(
    options: CollectiveOptions,
    operate: (native: NativeProcessGroup, timeoutMs: number, blocking: false) => Promise<void> | void,
  ): Promise<void> {
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    await this.#turns.inOrder(() => this.#calls.later((native) => operate(native, timeoutMs, false)));
  }

  /** Throws for unknown options. ringrun's functions pass on the option `group`, which must be this group. */
  protected checkOptions(method: string, options: object, names: Readonly<Record<string, true>>): void {
    requireOptions(method, options, names);
    const { group } = options as { group?: object | null };
    if (group === undefined || (group !== null && #calls in group && group.#calls === this.#calls)) return;
    throw new InvalidArgumentError(
      `${method}: the option group is a different group. Call the method of that group, or leave group out.`,
    );
  }

  #refuseUnlessUsable(): void {
    this.#calls.refuseAfterFailure();
    if (this.#destroyed) {
      throw new RingrunError(
        'ERR_GROUP_DESTROYED',
        'this group was destroyed. Create a new group, or call destroy later',
      );
    }
  }

  static {
    for (const name of Object.keys(nativeCollectives) as (keyof typeof nativeCollectives)[]) {
      this.#defineNative(name, nativeCollectives[name] as Prepare);
    }
    for (const name of Object.keys(steppedCollectives) as (keyof typeof steppedCollectives)[]) {
      this.#defineStepped(name, steppedCollectives[name] as Steps);
    }
  }

  /** Defines both forms of a collective that is one call of the addon. No rest parameters: a spread is slow. */
  static #defineNative(name: CollectiveName, prepare: Prepare): void {
    const { inputs, options: names } = collectives[name];
    const nameSync = `${name}Sync`;
    this.#define(name, async function (first, second, third) {
      const options = optionsAmong(inputs, first, second, third);
      this.checkOptions(name, options, names);
      const operate = prepare(this, options, first, second);
      const { input, output } = options as { input?: unknown; output?: unknown };
      for (const one of [first, second, input, output]) refuseResizable(one);
      await this.later(options, operate);
    });
    this.#define(nameSync, function (first, second, third) {
      const options = optionsAmong(inputs, first, second, third);
      this.checkOptions(nameSync, options, names);
      void this.#now(options, prepare(this, options, first, second));
    });
  }

  /** Defines both forms of a collective of several steps. */
  static #defineStepped(name: CollectiveName, steps: Steps): void {
    const { options: names } = collectives[name];
    const nameSync = `${name}Sync`;
    this.#define(name, async function (object, options = {}) {
      this.checkOptions(name, options as object, names);
      return await this.#runObjectAsync(options as ObjectOptions, (group) => steps(group, object, options));
    });
    this.#define(nameSync, function (object, options = {}) {
      this.checkOptions(nameSync, options as object, names);
      this.#checkObjectOptions(options as ObjectOptions);
      return runSync(steps(syncByteCollectives(this as unknown as ProcessGroup), object, options));
    });
  }

  static #define(name: string, method: Method): void {
    Object.defineProperty(method, 'name', { value: name });
    Object.defineProperty(this.prototype, name, { value: method, writable: true, configurable: true });
  }
}

type Method = (this: NativeGroupBase, first?: unknown, second?: unknown, third?: unknown) => unknown;
type Prepare = (place: Place, options: object, first: unknown, second: unknown) => NativeOperation;
type Steps = (group: ByteCollectives, object: unknown, options: unknown) => ObjectCollective<unknown>;

/** The argument behind the inputs of a collective. */
function optionsAmong(inputs: number, first: unknown, second: unknown, third: unknown): object {
  const options = inputs === 0 ? first : inputs === 1 ? second : third;
  return options === undefined ? {} : (options as object);
}

/**
 * A process group over the addon, with what all backends share: checks of arguments, order, and translated errors. The
 * rest is native. Its collectives follow from `collectives` and `nativeCollectives`.
 */
export type NativeGroup = NativeGroupBase & Collectives;
export const NativeGroup = NativeGroupBase as new (
  ...args: ConstructorParameters<typeof NativeGroupBase>
) => NativeGroup;

/**
 * True if an operation of the group has failed on this rank, so that no further operation runs.
 *
 * @internal
 */
export function hasFailed(group: object): boolean {
  return group instanceof NativeGroupBase && group.hasFailed;
}

/** Memory that the ranks of a host share. */
export interface HostMemory {
  /** Zeros at first. Stays mapped when the group is destroyed. */
  readonly data: Float32Array;
  /** Index of this rank among the ranks of its host, in the order of their ranks. */
  readonly place: number;
  /** Number of ranks of this host. */
  readonly ranks: number;
}

/**
 * Maps `length` zeros on all ranks of a host. A collective of all ranks of the group, which blocks the calling thread. The
 * group must share memory (transport `shm` or `mixed`).
 *
 * @internal
 */
export function shareMemorySync(group: object, length: number): HostMemory {
  if (group instanceof NativeGroupBase) return group.shareMemorySync(length);
  throw new InvalidArgumentError('Memory can be shared only in a group of initProcessGroup or newGroup.');
}

/**
 * The same elements in the memory of each rank, in the order of the ranks, of an array in memory of `allocateSync`, which is
 * one of them. Undefined unless all ranks of the group share memory. Call it once for each array. The arrays are detached
 * with that of this rank. Not a collective.
 *
 * @internal
 */
export function slicesOfRanks(group: object, data: Float32Array): readonly Float32Array[] | undefined {
  if (!(group instanceof NativeGroupBase) || group.transport !== 'shm') return undefined;
  return group.slicesOfRanks(data);
}

/**
 * What must change when its group is destroyed.
 *
 * @internal
 */
export interface LeavesGroup {
  leaveGroup(): void;
}

/**
/**
 * Calls `leaveGroup` when `destroy` of the group has ended on this rank, even if it failed. The group does not keep the object.
 *
 * @internal
 */
export function whenDestroyed(group: object, one: LeavesGroup): void {
  if (group instanceof NativeGroupBase) group.addLeaving(one);
}

/**
 * Resolves when every rank of the group has called it. It is one of the group's collectives: ranks that call another
 * one get CollectiveMismatchError at once.
 *
 * @internal
 */
export async function beginNewGroup(group: object, timeoutMs: number): Promise<void> {
  if (group instanceof NativeGroupBase) await group.beginNewGroup(timeoutMs);
}

/**
 * An all-reduce of float32 memory of `allocateSync` that a library starts while it computes. Undefined if this group can
 * only be called from JavaScript now.
 *
 * @param copy as much memory of `allocateSync`, which receives `data` before each all-reduce, also if that fails. Default:
 *   none.
 * @internal
 */
export function prepareAllReduce(
  group: object,
  data: Float32Array,
  op: ReduceOp,
  copy?: Float32Array,
): StartableOperation | undefined {
  return group instanceof NativeGroupBase ? group.prepareAllReduce(data, op, copy) : undefined;
}

/**
 * A barrier that a library starts while it computes. Undefined if this group can only be called from JavaScript now.
 *
 * @internal
 */
export function prepareBarrier(group: object): StartableOperation | undefined {
  return group instanceof NativeGroupBase ? group.prepareBarrier() : undefined;
}
