import type { GradientSink } from '@ringrun/core';
import { isNode, type Node, type Value } from '../graph/node.ts';
import type { Leaf, Structure, StructureKey } from '../graph/structure.ts';
import { nodesBeforeDetach } from '../graph/topology.ts';
import { leavesOfGiven } from '../ops/custom-gradient.ts';
import { isSameSequence } from '../graph/same-data.ts';
import { sparseReads } from '../ops/own/sparse-rows.ts';
import { keptUnasked, type ValuePosition } from './kept-values.ts';
import type { SegmentedGraph } from './segments/segmented-graph.ts';

/** Destinations of the gradients of a graph's parameters. */
export interface GradientPlaces {
  /** In their order, which is the same on all ranks. */
  readonly sinks: readonly GradientSink[];
  /** For each leaf the index of its sink (-1: none), then the index of its bucket. */
  readonly numbers: readonly number[];
}

export function gradientPlacesOf(leaves: readonly Leaf[]): GradientPlaces {
  const sinks: GradientSink[] = [];
  for (const { source } of leaves) {
    const sink = source.parameter?.gradientSink;
    if (sink !== undefined && !sinks.includes(sink)) sinks.push(sink);
  }
  if (sinks.length > 1) sinks.sort((a, b) => (a.order ?? 0) - (b.order ?? 0));
  const numbers: number[] = [];
  for (const { source } of leaves) {
    const sink = source.parameter?.gradientSink;
    numbers.push(sink === undefined ? -1 : sinks.indexOf(sink), source.parameter?.gradientBucketIndex ?? 0);
  }
  return { sinks, numbers };
}

/** Gradients of one bucket of one sink. */
export interface PlannedPart {
  /** Index of the sink. */
  readonly sink: number;
  readonly bucketIndex: number;
  /** Positions of the gradients. */
  readonly positions: readonly number[];
}

/** The plan that follows from the structure of a loss and the places of its gradients. It holds no parameters. */
export class StepPlan {
  /** Positions of the trainable leaves, in the order of their gradients: by bucket index, then in reverse forward order. */
  readonly trainable: readonly number[];
  /**
   * For each of `trainable` whose gradient is sparse, the number of rows that the loss reads: only lookups that ask for it
   * read the leaf. Undefined if its gradient is dense.
   */
  readonly sparseReads: readonly (number | undefined)[];
  /**
   * The gradients that are received together, in the order in which they are computed: by bucket index, then in the order
   * of the sinks. So all ranks start a group's averages in the same order, whichever parameters their losses depend on.
   */
  readonly parts: readonly PlannedPart[];
  /** The values that the program writes besides the loss: `keptUnasked`, and those that were read after an earlier step. */
  kept: readonly ValuePosition[];
  /** False until the first run. */
  hasRun = false;
  /** The last step in segments with `kept` values, for those that follow. */
  segmented: { readonly kept: StepPlan['kept']; readonly graph: SegmentedGraph } | undefined;
  readonly #structure: StructureKey;
  readonly #places: readonly number[];

  /**
   * @param written the loss, then the values that are written anyway
   * @param order all of their nodes
   */
  constructor(
    written: readonly Value[],
    order: readonly Node[],
    { leaves, key }: Structure,
    { numbers }: GradientPlaces,
  ) {
    this.#structure = key;
    this.#places = numbers;
    const given = leavesOfGiven(written[0])?.map(({ node }) => node);
    const reached = given ?? nodesBeforeDetach(written[0]);
    const isTrained = isTrainableBy(reached);
    this.trainable = [...leaves.keys()]
      .filter((position) => isTrained(leaves[position]))
      .reverse()
      .sort((a, b) => numbers[2 * a + 1] - numbers[2 * b + 1]);
    const readsOf = sparseReadsBy(reached);
    this.sparseReads = this.trainable.map((position) => readsOf.get(leaves[position].value));
    const dense = this.trainable.map((_, position) => this.sparseReads[position] === undefined);
    this.parts = partsOf(this.trainable, dense, numbers);
    this.kept = keptUnasked(written, order);
  }

  get hash(): number {
    return this.#structure.hash;
  }

  /** True if this is the plan for a structure and these places. */
  isOf(structure: StructureKey, { numbers }: GradientPlaces): boolean {
    if (!this.#structure.equals(structure)) return false;
    return isSameSequence(numbers, this.#places);
  }
}

/**
 * Returns a predicate: true for parameters that are reached.
 *
 * @param order the nodes that the loss depends on by a path without Identity (detach, noGrad)
 */
function isTrainableBy(order: readonly Node[]): (leaf: Leaf) => boolean {
  const reached = new Set(order);
  return ({ value, source }) => source.parameter !== undefined && reached.has(value.node);
}

/** The leaves that are read by lookups with sparse gradients only, with the number of rows of these lookups. */
function sparseReadsBy(order: readonly Node[]): Map<Value, number | undefined> {
  const reads = new Map<Value, number | undefined>();
  for (const node of order) {
    if (isNode(node, 'Identity')) continue;
    for (const value of new Set(node.inputs)) {
      if (!isNode(value.node, 'Input')) continue;
      const count = sparseReads(node, value);
      const before = reads.has(value) ? reads.get(value) : 0;
      reads.set(value, count === undefined || before === undefined ? undefined : before + count);
    }
  }
  return reads;
}

/** @param dense for each of `trainable`, whether its gradient is in a bucket */
function partsOf(
  trainable: readonly number[],
  dense: readonly boolean[],
  numbers: readonly number[],
): PlannedPart[] {
  const parts: { sink: number; bucketIndex: number; positions: number[] }[] = [];
  for (const [position, leaf] of trainable.entries()) {
    const [sink, bucketIndex] = [numbers[2 * leaf], numbers[2 * leaf + 1]];
    if (sink < 0 || !dense[position]) continue;
    const known = parts.find((part) => part.sink === sink && part.bucketIndex === bucketIndex);
    if (known === undefined) parts.push({ sink, bucketIndex, positions: [position] });
    else known.positions.push(position);
  }
  return parts.sort((a, b) => a.bucketIndex - b.bucketIndex || a.sink - b.sink);
}
