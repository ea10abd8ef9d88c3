import type { TensorData } from '../dtype.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import { isNode, type Value } from '../graph/node.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { arraysOf, compile, waitForLeaves, type RunOptions } from './compile.ts';
import { differentiate } from './differentiate.ts';
import { rematerializeParameterMaps } from './rematerialization.ts';
import { summarizeProgram } from './recompilation-warning.ts';
import { ProgramCache } from './program-cache.ts';
import { rewrite } from './rewrite.ts';
import { batchInnermost } from './rewrites/batch-innermost/index.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { SegmentedProgram } from './segmented-program.ts';
import { warnIfSlow } from './slow-compilation.ts';

/** By structure of the forward graph and bucket indices of the gradients. */
const programs = new ProgramCache<SegmentedProgram>();

/** Computes a loss and its gradients on the arrays of one forward call. Compiled on the first run. */
export interface TrainingStep {
  /** The trainable leaves in the order of the gradients: by bucket index, and within a bucket in reverse forward order. */
  readonly trainable: readonly Leaf[];
  /**
   * Runs forward, loss and backward, writes the loss and each gradient into its array, and executes the graph's
   * assignments. Calls `written` with positions of gradients, bucket by bucket, after the graph's collectives have ended.
   */
  run(
    loss: Float32Array,
    gradients: readonly Float32Array[],
    written: (positions: readonly number[]) => void,
    options?: RunOptions,
  ): Promise<void>;
}

export function trainingStepOf(loss: Value): TrainingStep {
  const assignments = assignmentsOf([loss]);
  const forward = [loss, ...assignments.values];
  const { leaves, groups, key } = structureOf(forward);
  const bucketIndexOf = ({ source }: Leaf) => source.parameter!.gradientBucketIndex;
  const trainable = leaves
    .filter(isTrainableBy(loss))
    .reverse()
    .sort((a, b) => bucketIndexOf(a) - bucketIndexOf(b));
  const parts = positionsByBucket(trainable.map(bucketIndexOf));
  const bucketIndices = leaves.map(({ source }) => source.parameter?.gradientBucketIndex).join();
  const shape = () => summarizeProgram(forward, leaves);
  const compileParts = () => {
    const rewritten = rewrite(rewrite(forward, [reluAfterMaxPool]), batchInnermost);
    const gradients = differentiate(rewritten[0]);
    // A leaf that affects the loss only through a comparison has a gradient of zeros.
    const gradientOf = ({ value }: Leaf) => gradients.get(value) ?? expand(constant(0), value.shape);
    const values = rematerializeParameterMaps([...rewritten, ...trainable.map(gradientOf)]);
    const [forwardValues, backwardValues] = [
      values.slice(0, rewritten.length),
      values.slice(rewritten.length),
    ];
    const requested = parts.map((positions) => positions.map((position) => backwardValues[position]));
    return SegmentedProgram.compile(
      { leaves, groups },
      withForward(forwardValues, requested),
      (inputs, outputs) => compile('forward and backward', inputs, outputs, { keepsActivations: true }),
    );
  };
  const make = () =>
    warnIfSlow(`forward and backward passes of a loss (${loss.node.op})`, shape(), compileParts);
  return {
    trainable,
    run: (lossOutput, gradients, written, { replaceGroup = (group) => group, arrayOf }: RunOptions = {}) => {
      const targets = parts.map((positions) => positions.map((position) => gradients[position]));
      const runOn = async (program: SegmentedProgram) => {
        await waitForLeaves(leaves);
        await assignments.during((arrays) => {
          const outputs = withForward<TensorData>([lossOutput, ...arrays], targets);
          return program.run(
            { inputs: arraysOf(leaves, arrayOf), outputs, groups: groups.map(replaceGroup) },
            (part) => {
              written(parts[part]);
            },
          );
        });
      };
      return programs.use(`${key} ${bucketIndices}`, make, runOn, shape);
    },
  };
}

/** Returns a predicate: true for parameters that the loss depends on by a path without Identity (detach, noGrad). */
function isTrainableBy(loss: Value): (leaf: Leaf) => boolean {
  const reached = new Set(topologicalOrder([loss], (node) => !isNode(node, 'Identity')));
  return ({ value, source }) => source.parameter !== undefined && reached.has(value.node);
}

/** Positions of equal bucket indices, which are adjacent. */
function positionsByBucket(bucketIndices: readonly number[]): number[][] {
  const parts = new Map<number, number[]>();
  for (const [position, bucket] of bucketIndices.entries()) {
    parts.set(bucket, [...(parts.get(bucket) ?? []), position]);
  }
  return [...parts.values()];
}

/** Puts the values of the forward pass before the gradients of the first part. */
function withForward<T>(forward: readonly T[], parts: readonly (readonly T[])[]): T[][] {
  const [first = [], ...rest] = parts;
  return [[...forward, ...first], ...rest.map((part) => [...part])];
}
