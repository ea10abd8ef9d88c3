import type { GradientSink, ParameterSharing } from '@ringrun/core';
import { isSameSequence } from '../graph/same-data.ts';
import type { Parameter } from '../tensor/parameter.ts';
import { clippingKey } from './clip-graph.ts';
import type { Clipping } from './clipping.ts';
import { definedNames, UpdateGraph } from './fused-update.ts';
import type { ParameterState } from './parameter-state.ts';
import type { ParameterStates } from './parameter-states.ts';
import type { Coefficients } from './rule.ts';
import type { UpdateRule } from './sparse-update.ts';

/** Parameters of one group that are updated with the same coefficients. */
export interface RequestedSet {
  /** Index of the group, and the number of all its parameters. */
  readonly group: number;
  readonly groupSize: number;
  readonly parameters: readonly Parameter[];
  readonly stateNames: readonly string[];
  readonly coefficients: Coefficients;
}

/** An update of the same parameters with different numbers. */
export interface Update {
  /** Equal for equal updates. */
  readonly parts: readonly unknown[];
  readonly parameters: readonly Parameter[];
  /** Destinations of the parameters' gradients. */
  readonly sinks: readonly {
    readonly sink: GradientSink | undefined;
    readonly version: number | undefined;
  }[];
  readonly states: readonly ParameterState[];
  /** The parameters in memory that is shared with other ranks. */
  readonly shared: readonly Parameter[];
  readonly graph: UpdateGraph;
}

/** Number of update graphs that an optimizer caches; `programCache` holds their programs. */
const maxUpdates = 16;

/** The updates of the last steps: another step of the same kind reuses the graph. */
export class Updates {
  readonly #rule: UpdateRule;
  readonly #states: ParameterStates;
  /** The most recently used is last. */
  #updates: readonly Update[] = [];

  constructor(rule: UpdateRule, states: ParameterStates) {
    this.#rule = rule;
    this.#states = states;
  }

  has(update: Update): boolean {
    return this.#updates.includes(update);
  }

  /** Forgets all updates, which are bound to the states' arrays: call it when those are replaced. */
  clear(): void {
    this.#updates = [];
  }

  /** @param averages see `UpdateSharing.averages` */
  of(sets: readonly RequestedSet[], clipping: Clipping | undefined, averages: boolean): Update {
    // The parameters that have a gradient may change at any step, and settings may change the computation.
    const parts = [averages, ...partsOf(sets, clipping)];
    const position = this.#updates.findLastIndex((update) => isSameSequence(update.parts, parts));
    const update = position < 0 ? this.#create(sets, clipping, averages, parts) : this.#updates[position];
    // Least recently used first.
    if (position < 0 || position < this.#updates.length - 1) {
      this.#updates = [...this.#updates.filter((other) => other !== update), update].slice(-maxUpdates);
    }
    return update;
  }

  #create(
    sets: readonly RequestedSet[],
    clipping: Clipping | undefined,
    averages: boolean,
    parts: readonly unknown[],
  ): Update {
    const parameters = sets.flatMap((set) => set.parameters);
    const updateSets = sets.map(({ coefficients, stateNames, ...set }) => ({
      coefficients,
      members: set.parameters.map((parameter) => ({
        parameter,
        state: this.#states.of(parameter).memoryOf(stateNames),
        part: parameter.gradientSink?.sharing?.ownPartOf(parameter),
      })),
    }));
    return {
      parts,
      parameters,
      sinks: parameters.map(({ gradientSink: sink }) => ({ sink, version: sink?.version })),
      states: parameters.map((parameter) => this.#states.of(parameter)),
      shared: parameters.filter(({ gradientSink }) => gradientSink?.sharing !== undefined),
      graph: new UpdateGraph(this.#rule, updateSets, clipping, {
        sharings: sharingsOf(parameters),
        averages,
      }),
    };
  }
}

/** Everything that an update graph depends on except the elements of states. */
function partsOf(sets: readonly RequestedSet[], clipping: Clipping | undefined): readonly unknown[] {
  const parts: unknown[] = [clippingKey(clipping)];
  for (const { parameters, stateNames, coefficients } of sets) {
    for (const parameter of parameters) {
      // The arrays change when a model is wrapped in DistributedDataParallel, and when ranks die or join.
      const sink = parameter.gradientSink;
      parts.push(parameter, sink && (sink.order ?? 0), sink?.version, parameter.sparseGradient?.capacity);
    }
    parts.push(...definedNames(coefficients), 'of', ...stateNames);
  }
  return parts;
}

/** In the same order on all ranks. */
export function sharingsOf(parameters: readonly Parameter[]): readonly ParameterSharing[] {
  const sinks = new Set(parameters.map(({ gradientSink }) => gradientSink));
  return [...new Set([...sinks].flatMap((sink) => sink?.sharing ?? []))];
}
