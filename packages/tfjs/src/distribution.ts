import { timedSync } from '@ringrun/core';
import { TfjsError } from './errors.ts';
import type { DistributeOptions } from './options.ts';
import { Team, type TeamSettings } from './team.ts';
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
export class Distribution implements OwnMethods {
  readonly #optimizer: Optimizer;
  /** The optimizer's original methods. */
  readonly #alone: OwnMethods;
  readonly #settings: DistributeOptions & Pick<TeamSettings, 'group' | 'accumulation'>;
  readonly #onFirstStep: () => void;
  readonly #teams: Team[] = [];
  /** The team whose gradients were computed last and are not applied yet. */
  #computed: Team | undefined;
  #applied: Team | undefined;

  constructor(
    optimizer: Optimizer,
    settings: DistributeOptions & Pick<TeamSettings, 'group' | 'accumulation'>,
    onFirstStep: () => void,
  ) {
    this.#optimizer = optimizer;
    this.#alone = {
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
    const team = this.#teamOf(varList?.filter(({ trainable }) => trainable) ?? this.#allTrained(), false);
    this.#computed = team;
    return timedSync('compute', 'tfjs gradients', () =>
      team.watching(() => this.#alone.computeGradients(f, varList ?? team.variables)),
    );
  }

  /** tf.Optimizer.applyGradients, with the average over all ranks. A collective. */
  applyGradients(gradients: GradientsByName | readonly NamedGradient[]): void {
    const list = isList(gradients) ? gradients : undefined;
    const byName =
      list === undefined ? gradients : Object.fromEntries(list.map(({ name, tensor }) => [name, tensor]));
    const team = this.#teamFor(byName as GradientsByName, list !== undefined);
    this.#applied = team;
    team.accumulate(byName as GradientsByName);
    if (!team.isDue) return;
    team.average();
    const averaged = team.takeGradients(list?.map(({ name }) => name));
    try {
      timedSync('compute', 'tfjs optimizer', () => {
        this.#alone.applyGradients(averaged);
      });
    } finally {
      for (const { tensor } of averaged) tensor?.dispose();
    }
  }

  #teamFor(gradients: GradientsByName, isList: boolean): Team {
    const names = Object.keys(gradients).filter((name) => gradients[name] != null || isList);
    const computed = this.#computed;
    this.#computed = undefined;
    if (computed?.has(Object.keys(gradients).filter((name) => gradients[name] != null))) return computed;
    const variables = names.map(variableCalled);
    return this.#teamOf(isList ? variables.filter(({ trainable }) => trainable) : this.#allTrained(), true);
  }

  #teamOf(variables: readonly TfVariable[], gradientsExist: boolean): Team {
    const isSame = (team: Team) =>
      team.variables.length === variables.length && team.variables.every((own, i) => own === variables[i]);
    const known = this.#teams.find(isSame);
    if (known !== undefined) return known;
    if (this.#teams.length === 0) this.#onFirstStep();
    const optimizer = this.#optimizer;
    // Variables of other optimizers and untrained variables affect the loss too, so they are kept equal.
    const others = this.#variables().filter((variable) => !variables.includes(variable));
    const team = new Team(variables, others, { ...this.#settings, optimizer, gradientsExist });
    this.#teams.push(team);
    return team;
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
