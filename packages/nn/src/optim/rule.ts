import type { Value } from '../graph/node.ts';

/**
 * The numbers of a rule, computed in double at every step and read by the compiled update as inputs. One that is undefined is not part of the
 * graph: which are defined, and which states there are, decides what is compiled; their sizes do not.
 */
export type Coefficients = Readonly<Record<string, number | undefined>>;

/** A parameter's state, an array or a value of the parameter's shape under each name; undefined: not kept under the present settings. */
export type StateValues = Readonly<Record<string, Value | undefined>>;

/** Where a parameter stands when it is updated. */
export interface Moment {
  /** Updates of this parameter, the present one included: 1 at the first. A step at which it has no gradient does not count. */
  readonly step: number;
  /** Whether some of its states begin at this update, as zeros. */
  readonly isFresh: boolean;
}

/** What a rule reads for one parameter: scalars for the coefficients, all else of the parameter's shape. */
export interface UpdateInputs<C extends Coefficients = Coefficients, S extends StateValues = StateValues> {
  readonly parameter: Value;
  readonly gradient: Value;
  readonly state: S;
  readonly coefficients: {
    readonly [Name in keyof C]: undefined extends C[Name] ? Value | undefined : Value;
  };
}

/** What the parameter and each of its states become. */
export interface UpdateOutputs<S extends StateValues = StateValues> {
  readonly parameter: Value;
  readonly state: S;
}

/** How an optimizer changes one parameter: pure functions of its settings. */
export interface Rule<
  Settings extends object,
  C extends Coefficients = Coefficients,
  S extends StateValues = StateValues,
> {
  /** The optimizer's name, for messages. */
  readonly name: string;

  /** @throws ArgumentError for settings that cannot work */
  check(settings: Settings): void;

  /** The states that are kept under these settings. */
  stateNames(settings: Settings): readonly (keyof S & string)[];

  coefficients(settings: Settings, moment: Moment): C;

  /**
   * The update as a graph. It works in place: a state or the parameter must not be read by anything that does not lead to what it becomes
   * (see `updateOf`).
   */
  update(inputs: UpdateInputs<C, S>): UpdateOutputs<S>;
}
