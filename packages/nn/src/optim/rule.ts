import type { Value } from '../graph/node.ts';
import type { SparseValue } from '../ops/own/sparse-rows.ts';

/**
 * Coefficients of a rule, computed in double precision at every step and passed to the compiled update as inputs.
 * Undefined coefficients are not part of the graph: the program depends on which coefficients are defined and which
 * states exist, not on their values.
 */
export type Coefficients = Readonly<Record<string, number | undefined>>;

/** A parameter's states by name, each of the parameter's shape; undefined: not used with the current settings. */
export type StateValues = Readonly<Record<string, Value | undefined>>;

/** Progress of a parameter at an update. */
export interface UpdateProgress {
  /** Number of updates of this parameter, including the current one. Steps without a gradient do not count. */
  readonly step: number;
  /** True if some of its states are initialized (as zeros) at this update. */
  readonly isFresh: boolean;
}

/** Inputs of a rule for one parameter: coefficients are scalars, all others have the parameter's shape. */
export interface UpdateInputs<C extends Coefficients = Coefficients, S extends StateValues = StateValues> {
  readonly parameter: Value;
  readonly gradient: Value;
  readonly state: S;
  readonly coefficients: {
    readonly [Name in keyof C]: undefined extends C[Name] ? Value | undefined : Value;
  };
}

/** Inputs of a rule for a table of which only some rows have a gradient. */
export type RowUpdateInputs<
  C extends Coefficients = Coefficients,
  S extends StateValues = StateValues,
> = Omit<UpdateInputs<C, S>, 'gradient'> & { readonly gradient: SparseValue };

/** New values of the parameter and its states. */
export interface UpdateOutputs<S extends StateValues = StateValues> {
  readonly parameter: Value;
  readonly state: S;
}

/** The update rule of an optimizer for one parameter: pure functions of its settings. */
export interface Rule<
  Settings extends object,
  C extends Coefficients = Coefficients,
  S extends StateValues = StateValues,
> {
  /** The optimizer's name, for messages. */
  readonly name: string;

  /** @throws ArgumentError for invalid settings */
  check(settings: Settings): void;

  /** Names of the states that these settings require. */
  stateNames(settings: Settings): readonly (keyof S & string)[];

  coefficients(settings: Settings, progress: UpdateProgress): C;

  /**
   * The update as a graph. It works in place: a state or the parameter may only be read by nodes that lead to its new value
   * (see `updateOf`).
   */
  update(inputs: UpdateInputs<C, S>): UpdateOutputs<S>;

  /**
   * The update for a sparse gradient, in place too. Undefined if the optimizer refuses sparse gradients.
   *
   * @throws ArgumentError if the settings exclude sparse gradients
   */
  updateRows?(inputs: RowUpdateInputs<C, S>): UpdateOutputs<S>;
}
