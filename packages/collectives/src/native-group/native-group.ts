import type { NativeProcessGroup } from '@ringrun/native';

import {
  collectives,
  InvalidArgumentError,
  messageOptions,
  PromisedWork,
  requireOptions,
  typedArrayClass,
} from '@ringrun/core';
import type {
  CollectiveBuffer,
  CollectiveName,
  CollectiveOptions,
  Collectives,
  DestinationOption,
  DType,
  Links,
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
import type { GroupLinks, MeasureLinksOptions } from '../links/group-links.ts';
import { checkedDType, checkedLength, checkedRank, checkedTimeout } from './arguments.ts';
import { noOptions, optionsAmong, refuseResizable, type Place } from './arguments.ts';
import { DestroyListeners } from './destroy-listeners.ts';
import type { LeavesGroup } from './destroy-listeners.ts';
import { groupDestroyed } from './failure.ts';
import type { NativeCalls } from './native-calls.ts';
import type { NativeOperation } from './native-collectives.ts';
import { nativeCollectives, steppedCollectives } from './native-collectives.ts';
import { receiveOperands, sendOperands } from './operands.ts';
import { PreparedOperations } from './prepared-operations.ts';
import { quantizedOperation, quantizedOptionNames } from './quantized.ts';
import type { QuantizedAllReduceOptions } from './quantized.ts';
import { Turns } from './turns.ts';

type ObjectOptions = CollectiveOptions & SourceOption & DestinationOption;

export interface GroupSettings {
  rank: number;
  size: number;
  backend: ProcessGroup['backend'];
  transport: ProcessGroup['transport'];
  /** Default timeout of operations, in milliseconds. */
  timeoutMs: number;
  links: GroupLinks;
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

/** Implements all of a `NativeGroup` except the methods generated for the collectives. */
export class NativeGroupBase implements PreparesCollectives {
  /** Rank of this process in the group, from 0. */
  readonly rank: number;
  /** Number of processes in the group. */
  readonly size: number;
  /** `gloo`: CPU; `nccl`: GPU. */
  readonly backend: ProcessGroup['backend'];
  /** How data is transferred. See {@link ProcessGroup.transport}. */
  readonly transport: ProcessGroup['transport'];
  /** @internal */
  readonly links: GroupLinks;
  readonly #timeoutMs: number;
  readonly #calls: NativeCalls;
  readonly #turns = new Turns();
  readonly #prepared: PreparedOperations;
  readonly #listeners = new DestroyListeners();
  #turnless: NativeGroup | undefined;
  #destroyed: Promise<void> | undefined;

  /**
   * @param calls Calls of a connected native group.
   * @internal
   */
  constructor(calls: NativeCalls, { rank, size, backend, transport, timeoutMs, links }: GroupSettings) {
    this.#calls = calls;
    this.rank = rank;
    this.size = size;
    this.backend = backend;
    this.transport = transport;
    this.links = links;
    this.#timeoutMs = timeoutMs;
    this.#prepared = new PreparedOperations(calls, timeoutMs);
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

  /** See the function `measureGroupLinks`. */
  async measureLinks({ use = false, ...options }: MeasureLinksOptions): Promise<Links> {
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    const measure = (native: NativeProcessGroup) => this.links.measure(native, { use, timeoutMs });
    return await this.#turns.severalSteps(() => this.#calls.later(measure));
  }

  /** See the function of this name in `group-internals.ts`. */
  prepareAllReduce(data: Float32Array, op: ReduceOp, copy?: Float32Array): StartableOperation | undefined {
    return this.mayStartCollectives ? this.#prepared.allReduce(data, op, copy) : undefined;
  }

  /** See the function of this name in `group-internals.ts`. */
  prepareBarrier(): StartableOperation | undefined {
    return this.mayStartCollectives ? this.#prepared.barrier() : undefined;
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
    return this.#prepared.withMemory(name, length);
  }

  /** See the function of this name in `all-reduce-quantized.ts`. */
  async allReduceQuantized(data: Float32Array, options: QuantizedAllReduceOptions): Promise<void> {
    this.checkOptions('allReduceQuantized', options, quantizedOptionNames);
    const operate = quantizedOperation(data, options);
    refuseResizable(data);
    await this.later(options, operate);
  }

  /** See the function of this name in `all-reduce-quantized.ts`. */
  allReduceQuantizedSync(data: Float32Array, options: QuantizedAllReduceOptions): void {
    this.checkOptions('allReduceQuantizedSync', options, quantizedOptionNames);
    void this.#now(options, quantizedOperation(data, options));
  }

  /** See the function of this name in `group-internals.ts`. */
  shareMemorySync(length: number, timeoutMs = this.#timeoutMs): HostMemory {
    const { buffer, place, ranks } = this.#now({ timeoutMs }, (native, limitMs) =>
      native.allocateForHostSync(checkedDType('float32'), checkedLength(length), limitMs),
    );
    return { data: new Float32Array(buffer), place, ranks };
  }

  /** See the function of this name in `group-internals.ts`. */
  slicesOfRanks(data: Float32Array): readonly Float32Array[] | undefined {
    const dtype = checkedDType('float32');
    const buffers = this.#calls.now((native) => native.slicesOfSync(data, dtype, this.#timeoutMs));
    return buffers?.map((buffer) => (buffer === null ? data : new Float32Array(buffer)));
  }

  /** See the function `whenDestroyed`. */
  addLeaving(one: LeavesGroup): void {
    this.#listeners.add(one);
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
    const operands = this.#checkedSend('sendSync', tensor, dst, options);
    this.#calls.now((native) => {
      native.sendSync(...operands);
    });
  }

  isend(tensor: CollectiveBuffer, dst: number, options: SendOptions = {}): Work {
    const operands = this.#checkedSend('isend', tensor, dst, options);
    return new PromisedWork(this.#calls.later((native) => native.send(...operands)));
  }

  #checkedSend(method: 'sendSync' | 'isend', tensor: CollectiveBuffer, dst: number, options: SendOptions) {
    this.checkOptions(method, options, messageOptions.send);
    const operands = sendOperands(this, tensor, dst, options);
    return this.#checkedMessage(method, tensor, operands, options);
  }

  /** Receives a message. See {@link ProcessGroup.recv}. */
  async recv(tensor: CollectiveBuffer, options: RecvOptions = {}): Promise<number> {
    return await this.irecv(tensor, options).wait();
  }

  recvSync(tensor: CollectiveBuffer, options: RecvOptions = {}): number {
    const operands = this.#checkedReceive('recvSync', tensor, options);
    return this.#calls.now((native) => native.receiveSync(...operands));
  }

  irecv(tensor: CollectiveBuffer, options: RecvOptions = {}): Work<number> {
    const operands = this.#checkedReceive('irecv', tensor, options);
    return new PromisedWork(this.#calls.later((native) => native.receive(...operands)));
  }

  #checkedReceive(method: 'recvSync' | 'irecv', tensor: CollectiveBuffer, options: RecvOptions) {
    this.checkOptions(method, options, messageOptions.recv);
    return this.#checkedMessage(method, tensor, receiveOperands(this, tensor, options), options);
  }

  /** The addon's operands of a message, with the timeout. */
  #checkedMessage<Operands extends unknown[]>(
    method: 'sendSync' | 'isend' | 'recvSync' | 'irecv',
    tensor: CollectiveBuffer,
    operands: Operands,
    options: CollectiveOptions,
  ): [...Operands, timeoutMs: number] {
    if (!method.endsWith('Sync')) refuseResizable(tensor);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    return [...operands, timeoutMs];
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
        this.#listeners.notify();
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
    const { rank, size, backend, transport, links } = this;
    const settings = { rank, size, backend, transport, links, timeoutMs: this.#timeoutMs };
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
    return this.#calls.now(operate, timeoutMs);
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
    if (this.#destroyed) throw groupDestroyed();
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
      if (options !== noOptions) this.checkOptions(nameSync, options, names);
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

/**
 * A process group over the addon, with the parts that all backends share: argument checks, call order and error
 * conversion. The rest is native. Its collectives follow from `collectives` and `nativeCollectives`.
 */
export type NativeGroup = NativeGroupBase & Collectives;
export const NativeGroup = NativeGroupBase as new (
  ...args: ConstructorParameters<typeof NativeGroupBase>
) => NativeGroup;
