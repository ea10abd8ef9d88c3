import { isSameList, timedSync } from '@ringrun/core';
import { TfjsError } from './errors.ts';
import type { DistributeOptions } from './options.ts';
import { TrainedVariables, type TrainedVariablesSettings } from './trained-variables.ts';
import {
  engine,
  variablesIn,
  variablesOfOptimizer,
  type GradientsByName,
  type NamedGradient,
  type Optimizer,
  type TfTensor,
  type TfVariable,
} from './tensorflow.ts';

type OwnMethods = Pick<Optimizer, 'minimize' | 'computeGradients' | 'applyGradients'>;

/** All distributed optimizers that still exist: their moments are variables, but not part of a model. */
const optimizers: WeakRef<Optimizer>[] = [];

/** Replaces the methods of one tf optimizer by collectives. */
export class DistributedOptimizer implements OwnMethods {
  readonly #optimizer: Optimizer;
  /** The optimizer's original methods. */
  readonly #original: OwnMethods;
  readonly #settings: DistributeOptions & Pick<TrainedVariablesSettings, 'group' | 'accumulation'>;
  readonly #onFirstStep: () => void;
  readonly #trained: TrainedVariables[] = [];
  /** The variables whose gradients were computed last and are not applied yet. */
  #computed: TrainedVariables | undefined;
  #applied: TrainedVariables | undefined;

  constructor(
    optimizer: Optimizer,
    settings: DistributeOptions & Pick<TrainedVariablesSettings, 'group' | 'accumulation'>,
    onFirstStep: () => void,
  ) {
    this.#optimizer = optimizer;
    this.#original = {
      minimize: optimizer.minimize.bind(optimizer),
      computeGradients: optimizer.computeGradients.bind(optimizer),
      applyGradients: optimizer.applyGradients.bind(optimizer),
    };
    this.#settings = settings;
    this.#onFirstStep = onFirstStep;
    optimizers.push(new WeakRef(optimizer));
  }

  get unused(): readonly string[] {
    return this.#applied?.unused ?? [];
  }

  /** tf.Optimizer.minimize */
  minimize(f: () => TfTensor, returnCost = false, varList?: TfVariable[]): TfTensor | null {
    const { value, grads } = this.computeGradients(f, varList);
    try {
      this.applyGradients(varList?.map(({ name }) => ({ name, tensor: grads[name] })) ?? grads);
    } catch (error) {
      value.dispose();
      throw error;
    } finally {
      for (const gradient of Object.values(grads)) gradient?.dispose();
    }
    if (returnCost) return value;
    value.dispose();
    return null;
  }

  /** tf.Optimizer.computeGradients. The first call broadcasts the variables of rank 0. */
  computeGradients(
    f: () => TfTensor,
    varList?: readonly TfVariable[],
  ): { value: TfTensor; grads: GradientsByName } {
    const trained = this.#trainedBy(
      varList?.filter(({ trainable }) => trainable) ?? this.#allTrained(),
      false,
    );
    this.#computed = trained;
    return timedSync('compute', 'tfjs gradients', () =>
      trained.watching(() => this.#original.computeGradients(f, varList ?? trained.variables)),
    );
  }

  /** tf.Optimizer.applyGradients, with the average over all ranks. A collective. */
  applyGradients(gradients: GradientsByName | readonly NamedGradient[]): void {
    const list = isList(gradients) ? gradients : undefined;
    const byName =
      list === undefined ? gradients : Object.fromEntries(list.map(({ name, tensor }) => [name, tensor]));
    const trained = this.#trainedByNames(byName as GradientsByName, list !== undefined);
    this.#applied = trained;
    trained.accumulate(byName as GradientsByName);
    if (!trained.isDue) return;
    trained.average();
    const averaged = trained.takeGradients(list?.map(({ name }) => name));
    try {
      timedSync('compute', 'tfjs optimizer', () => {
        this.#original.applyGradients(averaged);
      });
    } finally {
      for (const { tensor } of averaged) tensor?.dispose();
    }
  }

  #trainedByNames(gradients: GradientsByName, isList: boolean): TrainedVariables {
    const names = Object.keys(gradients).filter((name) => gradients[name] != null || isList);
    const computed = this.#computed;
    this.#computed = undefined;
    if (computed?.has(Object.keys(gradients).filter((name) => gradients[name] != null))) return computed;
    const variables = names.map(variableCalled);
    return this.#trainedBy(
      isList ? variables.filter(({ trainable }) => trainable) : this.#allTrained(),
      true,
    );
  }

  #trainedBy(variables: readonly TfVariable[], gradientsExist: boolean): TrainedVariables {
    const known = this.#trained.find((trained) => isSameList(trained.variables, variables));
    if (known !== undefined) return known;
    if (this.#trained.length === 0) this.#onFirstStep();
    const optimizer = this.#optimizer;
    // Variables of other optimizers and untrained variables affect the loss too, so they are kept equal.
    const others = this.#variables().filter((variable) => !variables.includes(variable));
    const trained = new TrainedVariables(variables, others, { ...this.#settings, optimizer, gradientsExist });
    this.#trained.push(trained);
    return trained;
  }

  /** tf's default: all trainable variables, without those of optimizers (Adam's accBeta1 is wrongly marked trainable). */
  #allTrained(): TfVariable[] {
    return this.#variables().filter(({ trainable }) => trainable);
  }

  #variables(): TfVariable[] {
    const alive = optimizers
      .map((reference) => reference.deref())
      .filter((optimizer) => optimizer !== undefined);
    const ofOptimizers = new Set(alive.flatMap((optimizer) => variablesOfOptimizer(optimizer)));
    return variablesIn(this.#settings.model).filter((variable) => !ofOptimizers.has(variable));
  }
}

function isList(
  gradients: GradientsByName | readonly NamedGradient[],
): gradients is readonly NamedGradient[] {
  return Array.isArray(gradients);
}

function variableCalled(name: string): TfVariable {
  const { registeredVariables } = engine();
  if (Object.hasOwn(registeredVariables, name)) return registeredVariables[name];
  throw new TfjsError(
    'ERR_ARGUMENT',
    `applyGradients: expected gradients named as their variables, got ${name}, which is not a variable. Pass { name: variable.name, tensor }.`,
  );
}
