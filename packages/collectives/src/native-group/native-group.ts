import type { NativeProcessGroup } from '@ringrun/native';

import {
  collectiveOptions,
  InvalidArgumentError,
  PromisedWork,
  requireOptions,
  RingrunError,
  typedArrayClass,
} from '@ringrun/core';
import type {
  BufferByRank,
  CollectiveBuffer,
  CollectiveOptions,
  DType,
  ProcessGroup,
  TypedArrayOf,
  Work,
} from '@ringrun/core';
import type { ByteCollectives, ObjectCollective } from '../objects.ts';
import * as objectCollectives from '../objects.ts';
import type * as Options from '@ringrun/core';
import { checkedDType, checkedLength, checkedRank, checkedTimeout } from './arguments.ts';
import type { Exchange } from './exchanges.ts';
import { allGatherExchange, allToAllExchange, gatherExchange, scatterExchange } from './exchanges.ts';
import type { NativeCalls } from './native-calls.ts';
import {
  allReduceCoalescedOperands,
  allReduceOperands,
  broadcastOperands,
  exchangeOperands,
  receiveOperands,
  reduceOperands,
  reduceScatterOperands,
  sendOperands,
} from './operands.ts';
import { Turns } from './turns.ts';

type ObjectOptions = Options.BroadcastObjectOptions & Options.GatherObjectOptions;

export interface GroupSettings {
  rank: number;
  size: number;
  backend: ProcessGroup['backend'];
  transport: ProcessGroup['transport'];
  /** Default timeout of operations, in milliseconds. */
  timeoutMs: number;
}

/**
 * A process group over the addon, with what all backends share: checks of arguments, order, and translated errors. The
 * rest is native.
 */
export class NativeGroup implements ProcessGroup {
  readonly rank: number;
  readonly size: number;
  readonly backend: ProcessGroup['backend'];
  readonly transport: ProcessGroup['transport'];
  readonly #timeoutMs: number;
  readonly #calls: NativeCalls;
  readonly #turns = new Turns();
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

  allocateSync<T extends DType>(dtype: T, length: number): TypedArrayOf[T] {
    const number = checkedDType(dtype);
    const elements = checkedLength(length);
    return this.#now(
      {},
      (native, timeoutMs) => new typedArrayClass[dtype](native.allocateSync(number, elements, timeoutMs)),
    );
  }

  async allReduce(tensor: CollectiveBuffer, options: Options.AllReduceOptions = {}): Promise<void> {
    this.checkOptions('allReduce', options, collectiveOptions.allReduce);
    const [data, dtype, op] = allReduceOperands(tensor, options);
    await this.later(options, (native, timeoutMs) => native.allReduce(data, dtype, op, timeoutMs));
  }

  // Does not spread the operands: a spread costs a tenth of the shortest call.
  allReduceSync(tensor: CollectiveBuffer, options: Options.AllReduceOptions = {}): void {
    this.checkOptions('allReduceSync', options, collectiveOptions.allReduce);
    const [data, dtype, op] = allReduceOperands(tensor, options);
    this.#now(options, (native, timeoutMs) => {
      native.allReduceSync(data, dtype, op, timeoutMs);
    });
  }

  async allReduceCoalesced(
    tensors: readonly CollectiveBuffer[],
    options: Options.AllReduceOptions = {},
  ): Promise<void> {
    this.checkOptions('allReduceCoalesced', options, collectiveOptions.allReduce);
    const operands = allReduceCoalescedOperands(tensors, options);
    await this.later(options, (native, timeoutMs) => native.allReduceCoalesced(...operands, timeoutMs));
  }

  allReduceCoalescedSync(tensors: readonly CollectiveBuffer[], options: Options.AllReduceOptions = {}): void {
    this.checkOptions('allReduceCoalescedSync', options, collectiveOptions.allReduce);
    const operands = allReduceCoalescedOperands(tensors, options);
    this.#now(options, (native, timeoutMs) => {
      native.allReduceCoalescedSync(...operands, timeoutMs);
    });
  }

  async reduce(tensor: CollectiveBuffer, options: Options.ReduceOptions = {}): Promise<void> {
    this.checkOptions('reduce', options, collectiveOptions.reduce);
    const operands = reduceOperands(this, tensor, options);
    await this.later(options, (native, timeoutMs) => native.reduce(...operands, timeoutMs));
  }

  reduceSync(tensor: CollectiveBuffer, options: Options.ReduceOptions = {}): void {
    this.checkOptions('reduceSync', options, collectiveOptions.reduce);
    const operands = reduceOperands(this, tensor, options);
    this.#now(options, (native, timeoutMs) => {
      native.reduceSync(...operands, timeoutMs);
    });
  }

  async reduceScatter(
    output: CollectiveBuffer,
    input: BufferByRank,
    options: Options.ReduceScatterOptions = {},
  ): Promise<void> {
    this.checkOptions('reduceScatter', options, collectiveOptions.reduceScatter);
    const operands = reduceScatterOperands(this, output, input, options);
    await this.later(options, (native, timeoutMs) => native.reduceScatter(...operands, timeoutMs));
  }

  reduceScatterSync(
    output: CollectiveBuffer,
    input: BufferByRank,
    options: Options.ReduceScatterOptions = {},
  ): void {
    this.checkOptions('reduceScatterSync', options, collectiveOptions.reduceScatter);
    const operands = reduceScatterOperands(this, output, input, options);
    this.#now(options, (native, timeoutMs) => {
      native.reduceScatterSync(...operands, timeoutMs);
    });
  }

  async broadcast(tensor: CollectiveBuffer, options: Options.BroadcastOptions = {}): Promise<void> {
    this.checkOptions('broadcast', options, collectiveOptions.broadcast);
    const operands = broadcastOperands(this, tensor, options);
    await this.later(options, (native, timeoutMs) => native.broadcast(...operands, timeoutMs));
  }

  broadcastSync(tensor: CollectiveBuffer, options: Options.BroadcastOptions = {}): void {
    this.checkOptions('broadcastSync', options, collectiveOptions.broadcast);
    const operands = broadcastOperands(this, tensor, options);
    this.#now(options, (native, timeoutMs) => {
      native.broadcastSync(...operands, timeoutMs);
    });
  }

  async allGather(
    output: BufferByRank,
    input: CollectiveBuffer,
    options: CollectiveOptions = {},
  ): Promise<void> {
    this.checkOptions('allGather', options, collectiveOptions.allGather);
    await this.#exchangeLater(allGatherExchange(this, output, input), options);
  }

  allGatherSync(output: BufferByRank, input: CollectiveBuffer, options: CollectiveOptions = {}): void {
    this.checkOptions('allGatherSync', options, collectiveOptions.allGather);
    this.#exchangeNow(allGatherExchange(this, output, input), options);
  }

  async gather(input: CollectiveBuffer, options: Options.GatherOptions = {}): Promise<void> {
    this.checkOptions('gather', options, collectiveOptions.gather);
    await this.#exchangeLater(gatherExchange(this, input, options), options);
  }

  gatherSync(input: CollectiveBuffer, options: Options.GatherOptions = {}): void {
    this.checkOptions('gatherSync', options, collectiveOptions.gather);
    this.#exchangeNow(gatherExchange(this, input, options), options);
  }

  async scatter(output: CollectiveBuffer, options: Options.ScatterOptions = {}): Promise<void> {
    this.checkOptions('scatter', options, collectiveOptions.scatter);
    await this.#exchangeLater(scatterExchange(this, output, options), options);
  }

  scatterSync(output: CollectiveBuffer, options: Options.ScatterOptions = {}): void {
    this.checkOptions('scatterSync', options, collectiveOptions.scatter);
    this.#exchangeNow(scatterExchange(this, output, options), options);
  }

  async allToAll(
    output: BufferByRank,
    input: BufferByRank,
    options: Options.AllToAllOptions = {},
  ): Promise<void> {
    this.checkOptions('allToAll', options, collectiveOptions.allToAll);
    await this.#exchangeLater(allToAllExchange(this, output, input, options), options);
  }

  allToAllSync(output: BufferByRank, input: BufferByRank, options: Options.AllToAllOptions = {}): void {
    this.checkOptions('allToAllSync', options, collectiveOptions.allToAll);
    this.#exchangeNow(allToAllExchange(this, output, input, options), options);
  }

  async send(tensor: CollectiveBuffer, dst: number, options: Options.SendOptions = {}): Promise<void> {
    await this.isend(tensor, dst, options).wait();
  }

  sendSync(tensor: CollectiveBuffer, dst: number, options: Options.SendOptions = {}): void {
    this.checkOptions('sendSync', options, collectiveOptions.send);
    const operands = sendOperands(this, tensor, dst, options);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    this.#calls.now((native) => {
      native.sendSync(...operands, timeoutMs);
    });
  }

  isend(tensor: CollectiveBuffer, dst: number, options: Options.SendOptions = {}): Work {
    this.checkOptions('isend', options, collectiveOptions.send);
    const operands = sendOperands(this, tensor, dst, options);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    return new PromisedWork(this.#calls.later((native) => native.send(...operands, timeoutMs)));
  }

  async recv(tensor: CollectiveBuffer, options: Options.RecvOptions = {}): Promise<number> {
    return await this.irecv(tensor, options).wait();
  }

  recvSync(tensor: CollectiveBuffer, options: Options.RecvOptions = {}): number {
    this.checkOptions('recvSync', options, collectiveOptions.recv);
    const operands = receiveOperands(this, tensor, options);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    return this.#calls.now((native) => native.receiveSync(...operands, timeoutMs));
  }

  irecv(tensor: CollectiveBuffer, options: Options.RecvOptions = {}): Work<number> {
    this.checkOptions('irecv', options, collectiveOptions.recv);
    const operands = receiveOperands(this, tensor, options);
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    return new PromisedWork(this.#calls.later((native) => native.receive(...operands, timeoutMs)));
  }

  async barrier(options: CollectiveOptions = {}): Promise<void> {
    this.checkOptions('barrier', options, collectiveOptions.barrier);
    await this.later(options, (native, timeoutMs) => native.barrier(false, timeoutMs));
  }

  barrierSync(options: CollectiveOptions = {}): void {
    this.checkOptions('barrierSync', options, collectiveOptions.barrier);
    this.#now(options, (native, timeoutMs) => {
      native.barrierSync(false, timeoutMs);
    });
  }

  async monitoredBarrier(options: CollectiveOptions = {}): Promise<void> {
    this.checkOptions('monitoredBarrier', options, collectiveOptions.barrier);
    await this.later(options, (native, timeoutMs) => native.barrier(true, timeoutMs));
  }

  monitoredBarrierSync(options: CollectiveOptions = {}): void {
    this.checkOptions('monitoredBarrierSync', options, collectiveOptions.barrier);
    this.#now(options, (native, timeoutMs) => {
      native.barrierSync(true, timeoutMs);
    });
  }

  async broadcastObject<T>(object: T, options: Options.BroadcastObjectOptions = {}): Promise<T> {
    this.checkOptions('broadcastObject', options, collectiveOptions.broadcastObject);
    return this.#runObjectAsync(options, (group) =>
      objectCollectives.broadcastObject(group, object, options),
    );
  }

  broadcastObjectSync<T>(object: T, options: Options.BroadcastObjectOptions = {}): T {
    this.checkOptions('broadcastObjectSync', options, collectiveOptions.broadcastObject);
    return this.#runObjectSync(options, (group) => objectCollectives.broadcastObject(group, object, options));
  }

  async allGatherObject<T>(object: T, options: CollectiveOptions = {}): Promise<T[]> {
    this.checkOptions('allGatherObject', options, collectiveOptions.allGatherObject);
    return this.#runObjectAsync(options, (group) =>
      objectCollectives.allGatherObject(group, object, options),
    );
  }

  allGatherObjectSync<T>(object: T, options: CollectiveOptions = {}): T[] {
    this.checkOptions('allGatherObjectSync', options, collectiveOptions.allGatherObject);
    return this.#runObjectSync(options, (group) => objectCollectives.allGatherObject(group, object, options));
  }

  async gatherObject<T>(object: T, options: Options.GatherObjectOptions = {}): Promise<T[] | undefined> {
    this.checkOptions('gatherObject', options, collectiveOptions.gatherObject);
    return this.#runObjectAsync(options, (group) => objectCollectives.gatherObject(group, object, options));
  }

  gatherObjectSync<T>(object: T, options: Options.GatherObjectOptions = {}): T[] | undefined {
    this.checkOptions('gatherObjectSync', options, collectiveOptions.gatherObject);
    return this.#runObjectSync(options, (group) => objectCollectives.gatherObject(group, object, options));
  }

  async scatterObject<T>(
    objects: readonly T[] | undefined,
    options: Options.ScatterObjectOptions = {},
  ): Promise<T> {
    this.checkOptions('scatterObject', options, collectiveOptions.scatterObject);
    return this.#runObjectAsync(options, (group) => objectCollectives.scatterObject(group, objects, options));
  }

  scatterObjectSync<T>(objects: readonly T[] | undefined, options: Options.ScatterObjectOptions = {}): T {
    this.checkOptions('scatterObjectSync', options, collectiveOptions.scatterObject);
    return this.#runObjectSync(options, (group) => objectCollectives.scatterObject(group, objects, options));
  }

  settleSync(): void {
    this.#refuseUnlessUsable();
    this.#turns.refuseWhileUnderWay();
    this.#calls.now((native) => {
      native.settleSync();
    });
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#turns.inOrder(() =>
      this.#calls.later((native) => native.destroy(this.#timeoutMs)),
    );
    return this.#destroyed;
  }

  #exchangeLater(exchange: Exchange, options: CollectiveOptions): Promise<void> {
    const operands = exchangeOperands(exchange);
    return this.later(options, (native, timeoutMs) => native.exchange(...operands, timeoutMs));
  }

  #exchangeNow(exchange: Exchange, options: CollectiveOptions): void {
    const operands = exchangeOperands(exchange);
    this.#now(options, (native, timeoutMs) => {
      native.exchangeSync(...operands, timeoutMs);
    });
  }

  async #runObjectAsync<Result>(
    options: ObjectOptions,
    collectiveOf: (group: ByteCollectives) => ObjectCollective<Result>,
  ): Promise<Result> {
    this.#checkObjectOptions(options);
    this.#refuseUnlessUsable();
    return await this.#turns.severalSteps(() => objectCollectives.runAsync(collectiveOf(this.#inThisTurn())));
  }

  #runObjectSync<Result>(
    options: ObjectOptions,
    collectiveOf: (group: ByteCollectives) => ObjectCollective<Result>,
  ): Result {
    this.#checkObjectOptions(options);
    return objectCollectives.runSync(collectiveOf(objectCollectives.syncByteCollectives(this)));
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
    operate: (native: NativeProcessGroup, timeoutMs: number) => Result,
  ): Result {
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    this.#turns.refuseWhileUnderWay();
    return this.#calls.now((native) => operate(native, timeoutMs));
  }

  /** Runs an operation in its turn, with the timeout of the options or the group. */
  protected async later(
    options: CollectiveOptions,
    operate: (native: NativeProcessGroup, timeoutMs: number) => Promise<void>,
  ): Promise<void> {
    const timeoutMs = this.#timeoutOf(options);
    this.#refuseUnlessUsable();
    await this.#turns.inOrder(() => this.#calls.later((native) => operate(native, timeoutMs)));
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
}
