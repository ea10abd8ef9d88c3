import { nativeOp } from '@ringrun/native';
import type { NativePreparedOperation } from '@ringrun/native';

import type { PreparedCollective, ReduceOp, StartableOperation } from '@ringrun/core';
import { checkedLength } from './arguments.ts';
import type { NativeCalls } from './native-calls.ts';
import { allReduceOperands } from './operands.ts';

/** An all-reduce that a library starts, and the memory that receives its input. */
interface PreparedAllReduce extends StartableOperation {
  readonly copy: Float32Array | undefined;
}

/** The collectives of a group that a library starts while it computes. All-reduces and the barrier are prepared once. */
export class PreparedOperations {
  readonly #calls: NativeCalls;
  readonly #timeoutMs: number;
  readonly #allReduces = new WeakMap<Float32Array, Map<ReduceOp, PreparedAllReduce>>();
  #barrier: StartableOperation | undefined;

  constructor(calls: NativeCalls, timeoutMs: number) {
    this.#calls = calls;
    this.#timeoutMs = timeoutMs;
  }

  /** @param copy receives `data` before each all-reduce. */
  allReduce(data: Float32Array, op: ReduceOp, copy?: Float32Array): StartableOperation {
    const ofData = this.#allReduces.get(data) ?? new Map<ReduceOp, PreparedAllReduce>();
    const known = ofData.get(op);
    if (known !== undefined && known.copy === copy) return known;
    const operands = allReduceOperands(data, { op });
    const native = this.#calls.now((group) => group.prepareAllReduce(...operands, this.#timeoutMs, copy));
    const prepared = { native, copy, ended: () => this.#ended(native) };
    this.#allReduces.set(data, ofData.set(op, prepared));
    return prepared;
  }

  barrier(): StartableOperation {
    if (this.#barrier !== undefined) return this.#barrier;
    const native = this.#calls.now((group) => group.prepareBarrier(false, this.#timeoutMs));
    return (this.#barrier = { native, ended: () => this.#ended(native) });
  }

  /** A collective with its own memory. */
  withMemory(name: 'allReduce' | 'allGather', length: number): PreparedCollective {
    const { operation, input, output } = this.#calls.now((group) =>
      group.prepareWithMemory(nativeOp[name], checkedLength(length), this.#timeoutMs),
    );
    return { native: operation, input, output, ended: () => this.#ended(operation) };
  }

  #ended(operation: NativePreparedOperation): Promise<void> | undefined {
    const end = this.#calls.now((group) => group.ended(operation));
    return end && this.#calls.later(() => end);
  }
}
