import type { GradientSink } from '@ringrun/core';
import type { Executor, GraphCall, Waits } from '../executor/executor.ts';
import { executorOf } from '../executor/select.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import { assignmentsOf, type Assignments } from '../graph/assignment.ts';
import type { Node, Value } from '../graph/node.ts';
import type { GradientReceiver } from '../graph/source.ts';
import { Recent } from '../graph/recent.ts';
import { isSameData } from '../graph/same-data.ts';
import { structureOf, type Leaf, type Structure, type StructureKey } from '../graph/structure.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { denseGradient, withCapacity } from '../ops/own/sparse-rows.ts';
import { leavesOfGiven } from '../ops/custom-gradient.ts';
import { usesOwnOperators } from '../ops/own/enabled.ts';
import { arrivalOf, buffersOf, isAvailable, type BufferOf, type RunOptions } from './compile.ts';
import { differentiate } from './differentiate.ts';
import { GraphProgram } from './graph-program.ts';
import type { ValuePosition } from './kept-values.ts';
import { recomputeActivations } from './recompute-activations.ts';
import { summarizeProgram, type ProgramSummary } from './recompilation-warning.ts';
import { ProgramCache, registerPrograms, type ProgramKey } from './program-cache.ts';
import { rewrite } from './rewrite.ts';
import { ChangingStructures } from './segments/changing-structures.ts';
import { SegmentedGraph } from './segments/segmented-graph.ts';
import { plainOperators } from './rewrites/plain-operators.ts';
import { removeCustomGradients } from './rewrites/remove-identity.ts';
import { reluAfterMaxPool } from './rewrites/relu-after-max-pool.ts';
import { softmaxCrossEntropyOfLogSoftmax } from './rewrites/softmax-cross-entropy.ts';
import { withoutElements } from './rewrites/without-elements.ts';
import { warnIfSlow } from './slow-compilation.ts';
import { gradientPlacesOf, StepPlan, type GradientPlaces } from './step-plan.ts';
import { programUpdateOf, placeUpdate, type PlacedUpdate, type StepUpdate } from './step-update.ts';

/** Programs are found by executor and its settings, the plan of a step, the values that it keeps, and its update. */
class StepKey implements ProgramKey {
  readonly plan: StepPlan;
  readonly #kept: readonly ValuePosition[];
  readonly #executor: Executor;
  readonly #settings: string | undefined;
  readonly #update: StructureKey | undefined;
  readonly #positions: readonly number[];

  constructor(executor: Executor, plan: StepPlan, placed: PlacedUpdate | undefined) {
    this.#executor = executor;
    this.#settings = executor.settings?.();
    this.plan = plan;
    this.#kept = plan.kept;
    this.#update = placed?.update.key;
    this.#positions = placed?.positions ?? [];
  }

  get hash(): number {
    return this.plan.hash;
  }

  equals(other: StepKey): boolean {
    if (this === other) return true;
    if (this.#executor !== other.#executor || this.plan !== other.plan || this.#kept !== other.#kept)
      return false;
    if (this.#settings !== other.#settings) return false;
    if (this.#update === undefined || other.#update === undefined) return this.#update === other.#update;
    return this.#update.equals(other.#update) && isSameData(this.#positions, other.#positions);
  }

  /** False if the plan keeps more values since. */
  get isCurrent(): boolean {
    return this.plan.kept === this.#kept;
  }
}

/** An update of this step, and the cache key of its program. */
interface KeyedUpdate {
  readonly placed: PlacedUpdate | undefined;
  readonly key: StepKey;
}

const programs = new ProgramCache<StepKey, GraphProgram>();
const structures = new ChangingStructures('a loss');

/** The plans of the last steps, also of those that have no program. */
const plans = new Recent<StepPlan>(64);
registerPrograms({
  size: 0,
  shrinkTo: (size) => {
    if (size === 0) plans.clear();
  },
});

/** Gradients of one bucket of one sink. */
export interface GradientPart {
  readonly sink: GradientSink;
  readonly bucketIndex: number;
  /** Positions of the gradients. */
  readonly positions: readonly number[];
}

export interface StepOptions extends RunOptions {
  /** Updates parameters in the same run, each when its part's call has ended. Default: none. */
  readonly update?: StepUpdate | undefined;
  /** Subsequent runs, without JavaScript in between: see `Program.run`. Default: none. */
  readonly later?: readonly LaterRun[];
}

/** A run of the same step that writes the same gradients and parameters. */
export interface LaterRun {
  /** Buffers for `values`. */
  readonly values: readonly ValueBuffer[];
  /** Buffers for the leaves of the step and of its update. */
  readonly bufferOf: BufferOf;
}

/** Computes a loss and its gradients on the arrays of one forward call. Compiled on the first run. */
export class TrainingStep {
  /** The trainable leaves in the order of the gradients: by bucket index, and within a bucket in reverse forward order. */
  readonly trainable: readonly Leaf[];
  /** The parameters of `trainable`. */
  readonly parameters: readonly GradientReceiver[];
  /** The gradients that are received together, in the order in which they are computed. */
  readonly parts: readonly GradientPart[];
  /** Runs the step. */
  readonly executor: Executor;
  /** The values that `run` writes: the loss, then the auxiliary values, then those of `kept`. */
  readonly values: readonly Value[];
  /** Values that a program reads after the step. */
  readonly kept: readonly ValuePosition[];
  /** Of this structure. */
  readonly plan: StepPlan;
  readonly #forward: readonly Value[];
  readonly #assignments: Assignments;
  readonly #structure: Structure;
  readonly #places: GradientPlaces;
  #lastUpdate: KeyedUpdate | undefined;

  /**
   * @param order all nodes of the loss and of the auxiliary values
   * @param auxiliary values that each run writes too. Default: none.
   */
  constructor(loss: Value, order: readonly Node[], auxiliary: readonly Value[] = []) {
    const wanted = [loss, ...auxiliary];
    this.#assignments = assignmentsOf(wanted, order);
    const { values: assigned } = this.#assignments;
    this.#structure =
      assigned.length === 0 ? structureOf(wanted, order) : structureOf([...wanted, ...assigned]);
    this.executor = executorOf(this.#structure.leaves);
    const places = gradientPlacesOf(this.#structure.leaves);
    this.#places = places;
    this.plan = planOf(wanted, order, this.#structure, places);
    this.kept = this.plan.kept;
    this.values = [...wanted, ...this.kept.map(({ node, output }) => order[node].outputs[output])];
    this.#forward = [...this.values, ...assigned];
    this.trainable = this.plan.trainable.map((position) => this.#structure.leaves[position]);
    this.parameters = this.trainable.map(({ source }) => source.parameter!);
    this.parts = this.plan.parts.map(({ sink, bucketIndex, positions }) => {
      return { sink: places.sinks[sink], bucketIndex, positions };
    });
  }

  get loss(): Value {
    return this.values[0];
  }

  /** The leaves that a run reads. */
  get leaves(): readonly Leaf[] {
    return this.#structure.leaves;
  }

  /**
   * The step as a chain of segments; undefined if it is compiled. Call it once for a run. A step in segments calls none of the calls
   * of its parts, and makes no update.
   */
  inSegments(): SegmentedGraph | undefined {
    return structures.segmentsOf({
      structure: this.#structure,
      isCompiled: programs.findKey(({ plan }) => plan === this.plan) !== undefined,
      summary: () => this.#summary(),
      cut: () => this.#cut(),
    });
  }

  #cut(): SegmentedGraph | undefined {
    const { executor, trainable, leaves, plan } = this;
    const { kept, segmented } = plan;
    if (segmented?.kept === kept && segmented.graph.isReusedBy(executor)) return segmented.graph;
    const { values, gradients } = differentiated(executor, this.#forward, trainable, plan.sparseReads);
    const graph = SegmentedGraph.of(executor, leaves, [...values, ...gradients]);
    plan.segmented = graph && { kept, graph: graph.withoutNodes() };
    return graph;
  }

  /** `run` as a chain of segments, without calls and update. */
  async runSegments(
    segments: SegmentedGraph,
    values: readonly ValueBuffer[],
    gradients: readonly ValueBuffer[],
    { bufferOf }: RunOptions,
  ): Promise<void> {
    const { leaves } = this.#structure;
    await arrivalOf(leaves);
    await this.#assignments.during(this.executor, (assigned) =>
      segments.run(buffersOf(leaves, this.executor, bufferOf), [...values, ...assigned, ...gradients]),
    );
  }

  /** False if the gradients have a different destination since. */
  hasItsPlaces(): boolean {
    const { sinks, numbers } = this.#places;
    return this.#structure.leaves.every(({ source: { parameter } }, position) => {
      const sink = numbers[2 * position];
      if (parameter?.gradientSink !== (sink < 0 ? undefined : sinks[sink])) return false;
      return (parameter?.gradientBucketIndex ?? 0) === numbers[2 * position + 1];
    });
  }

  /**
   * Runs forward, loss and backward, writes `values` and each gradient into their buffers, and executes the graph's
   * assignments. Starts a call for each part when its gradients have been written, after the graph's collectives have
   * ended.
   *
   * @returns how long the runs waited for calls
   */
  run(
    values: readonly ValueBuffer[],
    gradients: readonly ValueBuffer[],
    starts: readonly GraphCall[],
    options: StepOptions = {},
  ): Promise<Waits> {
    const { leaves } = this.#structure;
    const { placed, key } = this.#placedUpdate(options.update);
    this.plan.hasRun = true;
    const runOn = (program: GraphProgram, assigned: readonly ValueBuffer[] = []) =>
      this.#runOn(program, [...values, ...assigned, ...gradients], starts, placed, options);
    const isReady = this.#assignments.values.length === 0 && leaves.every(isAvailable);
    const program = isReady ? programs.ready(key) : undefined;
    if (program) return runOn(program);
    const make = () => this.#compile(placed);
    const runWhenArrived = async (compiled: GraphProgram) => {
      await arrivalOf(leaves);
      return await this.#assignments.during(this.executor, (assigned) => runOn(compiled, assigned));
    };
    return programs.use(key, make, runWhenArrived, () => this.#summary());
  }

  #runOn(
    program: GraphProgram,
    outputs: ValueBuffer[],
    starts: readonly GraphCall[],
    placed: PlacedUpdate | undefined,
    { replaceGroup, bufferOf, later = [] }: StepOptions,
  ): Promise<Waits> {
    const { leaves, groups } = this.#structure;
    const inputs = buffersOf(leaves, this.executor, bufferOf);
    if (placed) {
      inputs.push(...buffersOf(placed.ownLeaves, this.executor));
      for (const { into } of placed.update.assignments) outputs.push(into.forWriting(this.executor));
    }
    const written = outputs.slice(this.values.length);
    return program.run({
      inputs,
      outputs,
      groups: replaceGroup ? groups.map(replaceGroup) : groups,
      starts,
      later: later.map((run) => () => ({
        inputs: [
          ...buffersOf(leaves, this.executor, run.bufferOf),
          ...buffersOf(placed?.ownLeaves ?? [], this.executor, run.bufferOf),
        ],
        outputs: [...run.values, ...written],
      })),
    });
  }

  #placedUpdate(update: StepUpdate | undefined): KeyedUpdate {
    if (this.#lastUpdate === undefined || this.#lastUpdate.placed?.update !== update) {
      const placed = update && placeUpdate(update, this.#structure.leaves);
      this.#lastUpdate = { placed, key: new StepKey(this.executor, this.plan, placed) };
    }
    return this.#lastUpdate;
  }

  #summary(): ProgramSummary {
    return summarizeProgram(this.#forward, this.#structure.leaves);
  }

  #compile(placed: PlacedUpdate | undefined): Promise<GraphProgram> {
    programs.release(({ plan, isCurrent }) => plan === this.plan && !isCurrent);
    const what = `forward and backward passes of a loss (${this.loss.node.op})`;
    return warnIfSlow(what, this.#summary(), () =>
      compileStep(this.executor, this.#forward, this.#structure, this, placed),
    );
  }
}

function planOf(
  written: readonly Value[],
  order: readonly Node[],
  structure: Structure,
  places: GradientPlaces,
): StepPlan {
  return plans.use(
    (plan) => plan.isOf(structure.key, places),
    () => new StepPlan(written, order, structure, places),
  );
}

/** Later steps of a plan also write this value. Its program is compiled again. */
export function keepValue(plan: StepPlan, wanted: ValuePosition): void {
  if (plan.kept.some(({ node, output }) => node === wanted.node && output === wanted.output)) return;
  plan.kept = [...plan.kept, wanted];
}

/**
 * The values of a forward pass, the first of which is the loss, and its gradients; whether they are compiled or cut into segments, so
 * that the bits are the same.
 *
 * @param sparseReads see `StepPlan.sparseReads`
 */
function differentiated(
  executor: Executor,
  forward: readonly Value[],
  trainable: readonly Leaf[],
  sparseReads: StepPlan['sparseReads'],
): { values: readonly Value[]; gradients: readonly Value[] } {
  // Before differentiation, because the gradient of an addon operator is also an addon operator.
  const own = usesOwnOperators() ? [softmaxCrossEntropyOfLogSoftmax] : [plainOperators];
  const rules = [withoutElements(forward), removeCustomGradients, ...own, reluAfterMaxPool];
  const [loss, ...others] = executor.prepareForward(rewrite(forward, rules), 'training');
  const byLeaf = differentiate(loss);
  const gradients = trainable.map(({ value }, position) => {
    const gradient = byLeaf.get(value);
    const reads = sparseReads[position];
    if (reads !== undefined) return withCapacity(gradient, value.shape, reads);
    // A leaf that affects the loss only through a comparison has a gradient of zeros.
    return gradient ? denseGradient(gradient, value.shape) : expand(constant(0), value.shape);
  });
  return { values: [leavesOfGiven(loss) ? loss.node.inputs[0] : loss, ...others], gradients };
}

function compileStep(
  executor: Executor,
  forward: readonly Value[],
  structure: Structure,
  { trainable, parts, plan: { sparseReads } }: Pick<TrainingStep, 'trainable' | 'parts' | 'plan'>,
  placed: PlacedUpdate | undefined,
): Promise<GraphProgram> {
  const { values: rewritten, gradients } = differentiated(executor, forward, trainable, sparseReads);
  const computed = [...rewritten, ...gradients];
  const values = usesOwnOperators() ? recomputeActivations(computed, rewritten.length) : computed;
  return GraphProgram.compile(executor, placed ? 'step' : 'forward and backward', structure, values, {
    purpose: 'training',
    details: { gradients: trainable.length },
    parts: parts.map(({ positions }) => positions.map((position) => rewritten.length + position)),
    ...(placed && { update: programUpdateOf(placed, trainable, rewritten.length) }),
  });
}
