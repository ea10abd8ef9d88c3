import type { DistributedBuffer, DistributedModule, DistributedParameter, GradientSink } from 'ringrun';
import { assign, valuesOf, type TfTensor, type TfValues, type TfVariable } from './tensorflow.ts';

/** A variable whose elements lie in an array that others change in place, for a while: those of a backend cannot be. */
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

  /** @param keeps whether the variable becomes what the array is now */
  unstage(keeps: boolean): void {
    if (keeps && this.#staged !== undefined) assign(this.variable, this.#staged);
    this.#staged = undefined;
  }
}

/** A variable that is trained. Gradients of the steps that are averaged together add up in its place in the bucket. */
export class VariableParameter extends StagedVariable implements DistributedParameter {
  gradientSink: GradientSink | undefined;
  /** Whether the place holds a gradient of this rank that is not averaged yet. */
  #accumulates = false;
  #hasGradient = false;

  override get data(): Float32Array {
    return super.data as Float32Array;
  }

  get grad(): Float32Array | undefined {
    return this.#hasGradient ? this.#place : undefined;
  }

  get #place(): Float32Array {
    return this.gradientSink!.placeOf(this);
  }

  accumulate(gradient: TfTensor): void {
    const values = valuesOf(gradient);
    const place = this.#place;
    if (this.#accumulates) for (let i = 0; i < place.length; i += 1) place[i] += values[i];
    else place.set(values);
    this.#accumulates = true;
  }

  /** What has accumulated is ready to be averaged, divided by the number of `passes`. */
  contribute(passes: number): void {
    if (!this.#accumulates) return;
    this.#accumulates = false;
    const place = this.#place;
    if (passes > 1) for (let i = 0; i < place.length; i += 1) place[i] /= passes;
    this.gradientWritten();
  }

  gradientWritten(): void {
    this.#hasGradient = true;
    this.gradientSink!.gradientReady(this);
  }

  forgetGradient(): void {
    this.#hasGradient = false;
  }
}

/** Variables of TensorFlow.js as DistributedDataParallel meets a model. */
export class VariablesModule implements DistributedModule {
  /** tf optimizers apply gradients in a call that returns nothing to wait for. */
  readonly synchronous = true;
  readonly parameters: readonly VariableParameter[];
  /** Those that are kept equal. */
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

  /** What DistributedDataParallel wraps; TensorFlow.js calls models by itself. */
  forward<Result>(compute: () => Result): Result {
    return compute();
  }

  /** Lets `change` change the arrays of variables, which `keeps` them. When it throws, they stay as they were. */
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
