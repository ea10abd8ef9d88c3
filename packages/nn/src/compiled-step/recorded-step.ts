import { recordedCallsVersion } from '@ringrun/core';
import { TrainingStep } from '../compiler/training-step.ts';
import type { ElementCheck, ElementUse } from '../graph/element-checks.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import { isCollective } from '../graph/collective.ts';
import type { Node, Value } from '../graph/node.ts';
import type { Source } from '../graph/source.ts';
import { isSameData } from '../graph/same-data.ts';
import { sourceOfLeaf } from '../graph/source-of-leaf.ts';
import { substitute } from '../graph/substitute.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { input } from '../ops/source.ts';
import type { PartOfStep } from '../engine/prepared-step.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Replacements for the leaves of an earlier step. */
export type Replacements = ReadonlyMap<Source, Source>;

/** The graph of one call of a function that returns a loss, for later calls with other tensors of the same types. */
export class RecordedStep {
  /** All nodes of the loss and of the auxiliary values. */
  readonly order: readonly Node[];
  /** The loss, then the auxiliary values. */
  readonly values: readonly Value[];
  readonly #arguments: readonly unknown[];
  /** The leaves that are replaced. */
  readonly #checks: readonly ElementCheck[];
  readonly #version: number;
  #training: TrainingStep | undefined;
  /** The update of the last step, if it was part of the step's program. */
  part: PartOfStep | undefined;

  private constructor(
    values: readonly Value[],
    given: readonly unknown[],
    checks: readonly ElementCheck[],
    version: number,
  ) {
    this.values = values;
    this.order = topologicalOrder(values);
    this.#arguments = given;
    this.#checks = checks;
    this.#version = version;
  }

  /**
   * Undefined if the graph shows that another call with the same argument types could have a different graph or effect:
   * it has arrays that the function itself made, such as dropout keys, running statistics, or collectives.
   *
   * @param values the loss, then auxiliary values
   * @param version `recordedCallsVersion()` before the call
   */
  static of(
    values: readonly Value[],
    given: readonly unknown[],
    { checks, readsElements }: ElementUse<unknown>,
    version: number,
  ): RecordedStep | undefined {
    if (readsElements || version !== recordedCallsVersion()) return undefined;
    const sources = given.filter((one) => one instanceof Tensor).map(({ value }) => sourceOfLeaf(value));
    // A parameter as an argument is a different kind of leaf, and a tensor passed twice would have only one replacement.
    if (sources.some((source) => source === undefined || source.memory !== undefined)) return undefined;
    if (new Set(sources).size < sources.length) return undefined;
    const isRepeatable = (node: Node) => {
      if (isCollective(node)) return false;
      const source = sourceOfLeaf(node.outputs[0]);
      return source === undefined || source.memory !== undefined || sources.includes(source);
    };
    const order = topologicalOrder(values);
    if (!order.every(isRepeatable) || assignmentsOf(values, order).values.length > 0) return undefined;
    // Leaves without elements, so that the batch of this call can be freed.
    const places = new Map<Source | undefined, Source>(
      sources.map((source) => [source, { data: source!.data.slice(0, 0) }]),
    );
    const replaced = new Map<Value, Value>();
    const placeOf = (value: Value) => {
      const place = places.get(sourceOfLeaf(value));
      if (place && !replaced.has(value)) replaced.set(value, input(value.dtype, value.shape, place));
      return replaced.get(value) ?? value;
    };
    for (const { outputs } of order) placeOf(outputs[0]);
    const recorded = given.map((one) => (one instanceof Tensor ? new Tensor(placeOf(one.value)) : one));
    const emptied = substitute(values, replaced);
    const repeated = checks.flatMap(({ source, check }) => {
      const place = places.get(source);
      return place ? [{ source: place, check }] : [];
    });
    return new RecordedStep(emptied, recorded, repeated, version);
  }

  /** False if the graph must be recorded again. */
  get isCurrent(): boolean {
    return this.#version === recordedCallsVersion() && this.#training?.hasItsPlaces() !== false;
  }

  /**
   * Replacements for the leaves of the recorded call; undefined if the arguments differ in more than the elements of
   * tensors.
   *
   * @throws the error that the call itself would throw for these elements
   */
  replacements(given: readonly unknown[]): Replacements | undefined {
    if (given.length !== this.#arguments.length) return undefined;
    const replaced = new Map<Source, Source>();
    for (let position = 0; position < given.length; position += 1) {
      const [recorded, other] = [this.#arguments[position], given[position]];
      if (!(recorded instanceof Tensor)) {
        if (!Object.is(recorded, other)) return undefined;
      } else {
        const source = other instanceof Tensor ? sourceLike(recorded.value, other.value) : undefined;
        if (source === undefined) return undefined;
        replaced.set(sourceOfLeaf(recorded.value)!, source);
      }
    }
    for (const { source, check } of this.#checks) check(replaced.get(source)!.data);
    return replaced;
  }

  get training(): TrainingStep {
    const [loss, ...auxiliary] = this.values;
    return (this.#training ??= new TrainingStep(loss, this.order, auxiliary));
  }
}

/** The source of a caller's leaf, if its type equals that of another leaf. */
function sourceLike(known: Value, leaf: Value): Source | undefined {
  const source = sourceOfLeaf(leaf);
  const isAlike = leaf.dtype === known.dtype && isSameData(leaf.shape, known.shape);
  return isAlike && source?.memory === undefined ? source : undefined;
}
