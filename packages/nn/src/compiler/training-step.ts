import type { GradientSink } from 'ringrun';
import type { GraphCall } from '../executor/executor.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import { assignmentsOf } from '../graph/assignment.ts';
import { isNode, type Value } from '../graph/node.ts';
import type { CollectiveGroup, GradientReceiver } from '../graph/operators.ts';
import { structureOf, type Leaf } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { usesOwnOperators } from '../own-operators.ts';
import { buffersOf, waitForLeaves, type BufferAssignment, type RunOptions } from './compile.ts';
import { differentiate } from './differentiate.ts';
import type { ModelUpdate } from './emit.ts';
import { GraphProgram } from './graph-program.ts';
import { rematerializeParameterMaps } from './rematerialization.ts';
import { summarizeProgram } from './recompilation-warning.ts';
import { ProgramCache } from './program-cache.ts';
import { rewrite } from './rewrite.ts';
import { batchInnermost } from './rewrites/batch-innermost/index.ts';
import { plainOperators } from './rewrites/plain-operators.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { softmaxCrossEntropyOfLogSoftmax } from './rewrites/softmax-cross-entropy.ts';
import { warnIfSlow } from './slow-compilation.ts';

/** By structure of the forward graph and parts of the gradients. */
const programs = new ProgramCache<GraphProgram>();

/** Computes a loss and its gradients on the arrays of one forward call. Compiled on the first run. */
export interface TrainingStep {
  /** The trainable leaves in the order of the gradients: by bucket index, and within a bucket in reverse forward order. */
  readonly trainable: readonly Leaf[];
  /** The gradients that are received together, in the order in which they are computed. */
  readonly parts: readonly GradientPart[];
  /**
   * Runs forward, loss and backward, writes the loss and each gradient into its buffer, and executes the graph's
   * assignments. Starts a call for each part when its gradients have been written, after the graph's collectives have
   * ended.
   *
   * @returns the milliseconds for which the run waited for calls
   */
  run(
    loss: ValueBuffer,
    gradients: readonly ValueBuffer[],
    starts: readonly GraphCall[],
    options?: StepOptions,
  ): Promise<number>;
}

export interface StepOptions extends RunOptions {
  /** Updates parameters in the same run, each when its part's call has ended. Default: none. */
  readonly update?: StepUpdate | undefined;
}

/** The update of parameters as a part of a training step. */
export interface StepUpdate {
  /** Equal for equal updates of the same parameters. */
  readonly key: string;
  /** The leaves that the update reads besides the gradients, and parameters among them. */
  readonly leaves: readonly Leaf[];
  readonly assignments: readonly BufferAssignment[];
  /** The leaf that reads the gradient of a parameter. */
  readonly gradients: ReadonlyMap<GradientReceiver, Value>;
}

/** Gradients of one bucket of one sink. */
export interface GradientPart {
  readonly sink: GradientSink;
  readonly bucketIndex: number;
  /** Positions of the gradients. */
  readonly positions: readonly number[];
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
  const parts = partsOf(trainable);
  const partIndices = parts.map(({ positions }) => positions.join()).join(';');
  const order = trainable.map((leaf) => leaves.indexOf(leaf)).join();
  const shape = () => summarizeProgram(forward, leaves);
  const compileStep = (update: StepUpdate | undefined) => {
    // Before differentiation, because the gradient of an operator of the addon is another one.
    const own = usesOwnOperators() ? [softmaxCrossEntropyOfLogSoftmax] : [plainOperators];
    const rewritten = rewrite(rewrite(forward, [...own, reluAfterMaxPool]), batchInnermost);
    const gradients = differentiate(rewritten[0]);
    // A leaf that affects the loss only through a comparison has a gradient of zeros.
    const gradientOf = ({ value }: Leaf) => gradients.get(value) ?? expand(constant(0), value.shape);
    const values = rematerializeParameterMaps([...rewritten, ...trainable.map(gradientOf)]);
    return GraphProgram.compile(update ? 'step' : 'forward and backward', { leaves, groups }, values, {
      keepsActivations: true,
      fuses: true,
      parts: parts.map(({ positions }) => positions.map((position) => rewritten.length + position)),
      ...(update && { update: modelUpdate(update, trainable, leaves, rewritten.length) }),
    });
  };
  const make = (update: StepUpdate | undefined) =>
    warnIfSlow(`forward and backward passes of a loss (${loss.node.op})`, shape(), () => compileStep(update));
  return {
    trainable,
    parts,
    run: (lossOutput, gradients, starts, options: StepOptions = {}) => {
      const { replaceGroup = (group: CollectiveGroup) => group, bufferOf, update } = options;
      const ownLeaves = update ? leavesBeside(leaves, update) : [];
      const runOn = async (program: GraphProgram) => {
        await waitForLeaves(leaves);
        let waitedMs = 0;
        await assignments.during(async (assigned) => {
          const updated = update?.assignments.map(({ into }) => into) ?? [];
          waitedMs = await program.run({
            inputs: [...buffersOf(leaves, bufferOf), ...buffersOf(ownLeaves)],
            outputs: [lossOutput, ...assigned, ...gradients, ...updated],
            groups: groups.map(replaceGroup),
            starts,
          });
        });
        return waitedMs;
      };
      const updateKey = update ? `${update.key} ${positionsOfParameters(leaves, update)}` : '';
      return programs.use(`${key} ${order} ${partIndices} ${updateKey}`, () => make(update), runOn, shape);
    },
  };
}

function modelUpdate(
  update: StepUpdate,
  trainable: readonly Leaf[],
  leaves: readonly Leaf[],
  firstGradient: number,
): ModelUpdate {
  const reads = trainable.flatMap(({ source }, position): [number, Value][] => {
    const gradient = update.gradients.get(source.parameter!);
    return gradient === undefined ? [] : [[firstGradient + position, gradient]];
  });
  const outputs = update.assignments.map(({ value }) => value);
  return { leaves: leavesBeside(leaves, update), outputs, reads: new Map(reads) };
}

/** The leaves of an update that the step does not read, and that are no gradients. */
function leavesBeside(leaves: readonly Leaf[], update: StepUpdate): readonly Leaf[] {
  const known = new Set([...leaves.map(({ value }) => value), ...update.gradients.values()]);
  return update.leaves.filter(({ value }) => !known.has(value));
}

/** The parameters of an update by their positions among the leaves of the step. */
function positionsOfParameters(leaves: readonly Leaf[], { gradients }: StepUpdate): string {
  const positions = new Map(leaves.map(({ source }, position) => [source.parameter, position]));
  return [...gradients.keys()].map((parameter) => positions.get(parameter)).join();
}

/** Returns a predicate: true for parameters that the loss depends on by a path without Identity (detach, noGrad). */
function isTrainableBy(loss: Value): (leaf: Leaf) => boolean {
  const reached = new Set(topologicalOrder([loss], (node) => !isNode(node, 'Identity')));
  return ({ value, source }) => source.parameter !== undefined && reached.has(value.node);
}

/**
 * By bucket index, then in the order of the sinks: ranks start averages of one group in one order, whatever their losses
 * depend on.
 */
function partsOf(trainable: readonly Leaf[]): GradientPart[] {
  const parts = new Map<GradientSink, Map<number, number[]>>();
  for (const [position, { source }] of trainable.entries()) {
    const { gradientSink, gradientBucketIndex } = source.parameter!;
    if (gradientSink === undefined) continue;
    const buckets = parts.get(gradientSink) ?? new Map<number, number[]>();
    parts.set(gradientSink, buckets);
    buckets.set(gradientBucketIndex, [...(buckets.get(gradientBucketIndex) ?? []), position]);
  }
  return [...parts]
    .flatMap(([sink, buckets]) =>
      Array.from(buckets, ([bucketIndex, positions]) => ({ sink, bucketIndex, positions })),
    )
    .sort((a, b) => a.bucketIndex - b.bucketIndex || (a.sink.order ?? 0) - (b.sink.order ?? 0));
}
