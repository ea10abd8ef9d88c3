import type { DistributedDataParallelClass, ProcessGroup, SynchronousGradientSink } from '@ringrun/core';
import { requireEqualVariables, requireSameOptimizer } from './agreement.ts';
import type { DistributeOptions } from './options.ts';
import { requireDistributedDataParallel } from './ringrun.ts';
import {
  tensorOf,
  type GradientsByName,
  type NamedGradient,
  type Optimizer,
  type TfVariable,
} from './tensorflow.ts';
import { VariablesModule } from './variables.ts';

export interface TrainedVariablesSettings extends DistributeOptions {
  group: ProcessGroup;
  /** Steps per averaging. */
  accumulation: number;
  optimizer: Optimizer;
  /** True if gradients were computed already, so that variables must not be broadcast. */
  gradientsExist: boolean;
}

/** Variables that one optimizer trains with DistributedDataParallel. The constructor is a collective that broadcasts rank 0's variables. */
export class TrainedVariables {
  readonly variables: readonly TfVariable[];
  readonly #group: ProcessGroup;
  readonly #module: VariablesModule;
  readonly #ddp: InstanceType<DistributedDataParallelClass>;
  readonly #accumulation: number;
  readonly #broadcastsBuffers: boolean;
  /** Variables that the optimizer does not train; `#assigned`: those of them that a forward pass has assigned. */
  readonly #others: readonly TfVariable[];
  readonly #assigned = new Set<TfVariable>();
  /** Variables that have had a gradient on any rank, in order of first use. */
  readonly #used = new Set<string>();
  #passes = 0;

  constructor(
    variables: readonly TfVariable[],
    others: readonly TfVariable[],
    settings: TrainedVariablesSettings,
  ) {
    const { group, accumulation, optimizer, commHook, broadcastBuffers = true } = settings;
    this.variables = variables;
    this.#group = group;
    this.#accumulation = accumulation;
    this.#broadcastsBuffers = broadcastBuffers;
    this.#others = others;
    this.#module = new VariablesModule(variables, others);
    requireSameOptimizer(group, optimizer, accumulation);
    if (settings.gradientsExist) requireEqualVariables(group, [...variables, ...others]);
    this.#ddp = this.#wrap(settings);
    if (commHook !== undefined) this.#ddp.registerCommHook(commHook);
    this.#module.buffers = [];
  }

  /** Names of variables on which no rank's loss depended in the last step. */
  get unused(): readonly string[] {
    return this.#ddp.unusedParameters;
  }

  has(names: Iterable<string>): boolean {
    const own = new Set(this.variables.map(({ name }) => name));
    return [...names].every((name) => own.has(name));
  }

  /** Runs a forward pass and detects the variables it assigns by their changed `dataId`, without reading them. */
  watching<Result>(run: () => Result): Result {
    const before = this.#others.map(({ dataId }) => dataId);
    const result = run();
    const news = this.#others.filter((variable, i) => variable.dataId !== before[i]);
    for (const variable of news) this.#assigned.add(variable);
    if (news.length > 0) {
      this.#module.buffers = new VariablesModule([], [...this.#assigned]).buffers;
    }
    return result;
  }

  accumulate(gradients: GradientsByName): void {
    for (const parameter of this.#module.parameters) {
      const gradient = gradients[parameter.name];
      if (gradient != null) parameter.accumulate(gradient);
    }
    this.#passes += 1;
  }

  get isDue(): boolean {
    return this.#passes >= this.#accumulation;
  }

  /** Averages gradients over all ranks. A synchronous collective. */
  average(): void {
    const passes = this.#passes;
    this.#passes = 0;
    const contributing = this.#module.parameters.filter((parameter) => parameter.contribute(passes));
    const [{ gradientSink }] = this.#module.parameters;
    (gradientSink as SynchronousGradientSink).averageSync(contributing);
    for (const { name, grad } of this.#module.parameters) if (grad !== undefined) this.#used.add(name);
    if (this.#broadcastsBuffers) this.#syncBuffers();
  }

  /**
   * The averaged gradients as tensors, owned by the caller. tf optimizers index their moments by a gradient's position in
   * the list, so each variable has the same position at every step, even without a gradient.
   *
   * @param names of the variables, in order. Default: all variables that have ever had a gradient.
   */
  takeGradients(names: readonly string[] = [...this.#used]): NamedGradient[] {
    const byName = new Map(this.#module.parameters.map((parameter) => [parameter.name, parameter]));
    const gradients = names.map((name) => {
      const parameter = byName.get(name);
      const values = parameter?.grad;
      return {
        name,
        tensor: values && tensorOf(values, { shape: parameter.variable.shape, dtype: 'float32' }),
      };
    });
    for (const parameter of this.#module.parameters) parameter.forgetGradient();
    return gradients;
  }

  #wrap({
    group,
    bucketCapMb,
    verifyEvery,
  }: TrainedVariablesSettings): InstanceType<DistributedDataParallelClass> {
    const Wrapper = requireDistributedDataParallel();
    const { parameters, buffers } = this.#module;
    const options = {
      processGroup: group,
      overlap: false,
      broadcastBuffers: this.#broadcastsBuffers,
      ...(bucketCapMb !== undefined && { bucketCapMb }),
      ...(verifyEvery !== undefined && { verifyEvery }),
    };
    return this.#module.staged(
      [...parameters, ...buffers],
      () => new Wrapper(this.#module, options),
      group.rank !== 0,
    );
  }

  #syncBuffers(): void {
    this.#module.staged(
      this.#module.buffers,
      () => {
        this.#ddp.syncBuffers();
      },
      this.#group.rank !== 0,
    );
  }
}
