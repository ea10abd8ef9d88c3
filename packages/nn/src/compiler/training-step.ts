import type { TensorData } from '../dtype.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import { isNode, type Value } from '../graph/node.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { arraysOf, compile, leavesToArrive, type RunOptions } from './compile.ts';
import { differentiate } from './differentiate.ts';
import { mapParametersLate } from './late-maps.ts';
import { programShapeOf } from './churn.ts';
import { Programs } from './program-cache.ts';
import { rewrite } from './rewrite.ts';
import { batchInnermost } from './rewrites/batch-innermost/index.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { SegmentedProgram } from './segmented-program.ts';
import { announcedIfSlow } from './slow-compilation.ts';

/** By the structure of their forward graphs, and the buckets of their gradients. */
const programs = new Programs<SegmentedProgram>();

/** A graph whose outputs are a loss and its gradients, to run on the arrays of one forward call; compiled when it first runs. */
export interface TrainingStep {
  /** The trainable leaves, in the order of the gradients: by their buckets, and in each the last one used in the forward pass first. */
  readonly trainable: readonly Leaf[];
  /**
   * Runs forward, loss and backward; writes the loss and each gradient into its array, and brings about what the graph assigns. Tells the
   * positions of gradients, bucket by bucket, as soon as they are written and the graph's collectives are over.
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
  const shape = () => programShapeOf(forward, leaves);
  const compileParts = () => {
    const rewritten = rewrite(rewrite(forward, [reluAfterMaxPool]), batchInnermost);
    const gradients = differentiate(rewritten[0]);
    // A leaf that the loss uses without depending on it, as behind a comparison, has a gradient of zeros.
    const gradientOf = ({ value }: Leaf) => gradients.get(value) ?? expand(constant(0), value.shape);
    const late = mapParametersLate([...rewritten, ...trainable.map(gradientOf)]);
    const [ahead, behind] = [late.slice(0, rewritten.length), late.slice(rewritten.length)];
    const wanted = parts.map((positions) => positions.map((position) => behind[position]));
    return SegmentedProgram.compile({ leaves, groups }, withForward(ahead, wanted), (inputs, outputs) =>
      compile('forward and backward', inputs, outputs, { keepsActivations: true }),
    );
  };
  const make = () =>
    announcedIfSlow(`forward and backward passes of a loss (${loss.node.op})`, shape(), compileParts);
  return {
    trainable,
    run: (lossOutput, gradients, written, { through = (group) => group, arrayOf }: RunOptions = {}) => {
      const places = parts.map((positions) => positions.map((position) => gradients[position]));
      const runOn = async (program: SegmentedProgram) => {
        await leavesToArrive(leaves);
        await assignments.during((arrays) => {
          const outputs = withForward<TensorData>([lossOutput, ...arrays], places);
          return program.run(
            { inputs: arraysOf(leaves, arrayOf), outputs, groups: groups.map(through) },
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

/** Whether a leaf is a parameter to which a way leads back from the loss, not only such as are cut off by Identity. */
function isTrainableBy(loss: Value): (leaf: Leaf) => boolean {
  const reached = new Set(topologicalOrder([loss], (node) => !isNode(node, 'Identity')));
  return ({ value, source }) => source.parameter !== undefined && reached.has(value.node);
}

/** Positions of equal numbers, which stand side by side. */
function positionsByBucket(bucketIndices: readonly number[]): number[][] {
  const parts = new Map<number, number[]>();
  for (const [position, bucket] of bucketIndices.entries()) {
    parts.set(bucket, [...(parts.get(bucket) ?? []), position]);
  }
  return [...parts.values()];
}

/** What the forward pass gives is given by the first part, before its gradients. */
function withForward<T>(forward: readonly T[], parts: readonly (readonly T[])[]): T[][] {
  const [first = [], ...rest] = parts;
  return [[...forward, ...first], ...rest.map((part) => [...part])];
}
