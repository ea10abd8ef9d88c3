import { warnOfUnaveragedGradient } from '@ringrun/core';
import type { DistributedParameter, GradientSink } from 'ringrun';
import type { GradientReceiver, Source } from './graph/operators.ts';
import { describeType } from './graph/node.ts';
import { input } from './ops/source.ts';
import { requireLength } from './require-length.ts';
import { Tensor } from './tensor.ts';
import { enqueueChange } from './operation-queue.ts';

/** A trainable tensor (torch.nn.Parameter): its elements and its gradient live in arrays that stay where they are. */
export class Parameter extends Tensor implements DistributedParameter, GradientReceiver {
  /** The elements, row-major. The optimizer changes them in place. */
  readonly data: Float32Array;
  /** Set by DistributedDataParallel: who says where the gradient goes, and averages it. */
  gradientSink: GradientSink | undefined;
  #ownGradient: Float32Array | undefined;
  #hasGradient = false;
  #path: string | undefined;

  constructor(data: Float32Array, shape: readonly number[]) {
    requireLength(data, { dtype: 'float32', shape });
    const source: { data: Float32Array; parameter?: GradientReceiver } & Source = { data };
    super(input('float32', shape, source));
    source.parameter = this;
    this.data = data;
  }

  /** The gradient since the last `zeroGrad`, or undefined when there was no backward pass. */
  get grad(): Float32Array | undefined {
    return this.#hasGradient ? this.gradientArray() : undefined;
  }

  /** Forgets the gradient, so that the next backward pass starts a new one; after the operations that are pending, such as a step that was not awaited. */
  zeroGrad(): void {
    enqueueChange('zeroGrad', () => {
      this.#hasGradient = false;
    });
  }

  /** The bucket in which the gradient is averaged, where that begins before the backward pass ends. */
  get gradientBucketIndex(): number {
    return this.gradientSink?.bucketIndexOf(this) ?? 0;
  }

  /** Where the parameter is in a model, as `conv1.weight`; undefined before a module has listed it. For messages. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Told by a module that lists the parameter. The path from the whole model is the longest one. */
  listedAs(path: string): void {
    if (this.#path === undefined || path.length > this.#path.length) this.#path = path;
  }

  /** The parameter as messages name it: its path and its type. */
  describe(): string {
    return `${this.#path === undefined ? 'a parameter' : `parameter ${this.#path}`} (${describeType(this)})`;
  }

  gradientArray(): Float32Array {
    if (this.gradientSink !== undefined) return this.gradientSink.placeOf(this);
    this.#ownGradient ??= new Float32Array(this.data.length);
    return this.#ownGradient;
  }

  gradientWritten(): void {
    this.#hasGradient = true;
    if (this.gradientSink === undefined) warnOfUnaveragedGradient();
    else this.gradientSink.gradientReady(this);
  }

  async backwardDone(): Promise<void> {
    await this.gradientSink?.backwardDone();
  }
}
