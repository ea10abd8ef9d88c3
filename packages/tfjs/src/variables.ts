import type { DistributedBuffer, DistributedModule, DistributedParameter, GradientSink } from '@ringrun/core';
import {
  assign,
  valuesOf,
  variablesIn,
  type AnyModel,
  type TfTensor,
  type TfValues,
  type TfVariable,
} from './tensorflow.ts';

/** A variable that can be staged: copied to an array that is changed in place, since a backend's memory cannot be. */
class StagedVariable implements DistributedBuffer {
  readonly variable: TfVariable;
  #staged: TfValues | undefined;

  constructor(variable: TfVariable) {
    this.variable = variable;
  }

  get name(): string {
    return this.variable.name;
  }

  get shape(): readonly number[] {
    return this.variable.shape;
  }

  get data(): TfValues {
    return this.#staged ?? valuesOf(this.variable);
  }

  stage(): void {
    this.#staged = valuesOf(this.variable).slice();
  }

  /** @param keeps if true, assigns the staged array to the variable */
  unstage(keeps: boolean): void {
    if (keeps && this.#staged !== undefined) assign(this.variable, this.#staged);
    this.#staged = undefined;
  }
}

/** A trained variable. Gradients of accumulated steps are summed in its bucket. */
export class VariableParameter extends StagedVariable implements DistributedParameter {
  gradientSink: GradientSink | undefined;
  /** True if the bucket holds a gradient of this rank that is not averaged yet. */
  #accumulates = false;
  #hasGradient = false;

  override get data(): Float32Array {
    return super.data as Float32Array;
  }

  get grad(): Float32Array | undefined {
    return this.#hasGradient ? this.#gradientArray : undefined;
  }

  get #gradientArray(): Float32Array {
    return this.gradientSink!.arrayOf(this);
  }

  accumulate(gradient: TfTensor): void {
    const values = valuesOf(gradient);
    const sum = this.#gradientArray;
    if (this.#accumulates) for (let i = 0; i < sum.length; i += 1) sum[i] += values[i];
    else sum.set(values);
    this.#accumulates = true;
  }

  /** Divides the accumulated gradient by the number of `passes`. Returns false if there is none. */
  contribute(passes: number): boolean {
    if (!this.#accumulates) return false;
    this.#accumulates = false;
    const gradient = this.#gradientArray;
    if (passes > 1) for (let i = 0; i < gradient.length; i += 1) gradient[i] /= passes;
    this.gradientWritten();
    return true;
  }

  gradientWritten(): void {
    this.#hasGradient = true;
  }

  forgetGradient(): void {
    this.#hasGradient = false;
  }
}

/** TensorFlow.js variables as a module for DistributedDataParallel. */
export class VariablesModule implements DistributedModule {
  /** tf optimizers are synchronous. */
  readonly synchronous = true;
  readonly parameters: readonly VariableParameter[];
  /** Variables that are kept equal on all ranks. */
  buffers: readonly StagedVariable[];

  constructor(trained: readonly TfVariable[], others: readonly TfVariable[]) {
    this.parameters = trained.map((variable) => new VariableParameter(variable));
    this.buffers = others.map((variable) => new StagedVariable(variable));
  }

  *namedParameters(): Iterable<readonly [string, VariableParameter]> {
    for (const parameter of this.parameters) yield [parameter.name, parameter];
  }

  *namedBuffers(): Iterable<readonly [string, DistributedBuffer]> {
    for (const buffer of this.buffers) yield [buffer.name, buffer];
  }

  /** Required by DistributedDataParallel; TensorFlow.js calls models itself. */
  forward<Result>(compute: () => Result): Result {
    return compute();
  }

  /** Runs `change` on staged variables and assigns the results if `keeps`. If it throws, no variable changes. */
  staged<Result>(variables: readonly StagedVariable[], change: () => Result, keeps: boolean): Result {
    let changed = false;
    for (const variable of variables) variable.stage();
    try {
      const result = change();
      changed = true;
      return result;
    } finally {
      for (const variable of variables) variable.unstage(keeps && changed);
    }
  }
}

/** A read-only view of a model's variables for ringrun's functions: `await verifyIdenticalParameters(moduleOf(model))`. */
export function moduleOf(model: AnyModel): DistributedModule {
  const all = variablesIn(model);
  const isTrained = ({ trainable, dtype }: (typeof all)[number]) => trainable && dtype === 'float32';
  return new VariablesModule(
    all.filter(isTrained),
    all.filter((variable) => !isTrained(variable)),
  );
}
