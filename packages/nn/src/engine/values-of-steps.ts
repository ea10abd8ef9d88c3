import { evaluate, type BufferOf } from '../compiler/compile.ts';
import type { StepPlan } from '../compiler/step-plan.ts';
import { keepValue, type TrainingStep } from '../compiler/training-step.ts';
import type { TensorData } from '../dtype.ts';
import type { Node, Value } from '../graph/node.ts';
import type { Source } from '../graph/source.ts';
import { cacheElements, cachedElements } from './value-cache.ts';

/**
 * The values of backward passes that a program reads afterwards, such as the logits for an accuracy. The first read computes
 * the value again. From then on it is an output of each step of this structure, so that a read costs nothing and is possible
 * after the update.
 */

/** A backward pass, for later reads. */
interface PastStep {
  readonly plan: StepPlan;
  /** The nodes of the loss, as `ValuePosition` counts them. */
  readonly order: readonly Node[];
  /** Until the second step of the structure: the parameters and buffers before the first one's update. */
  before: ReadonlyMap<Source, TensorData> | undefined;
}

/** Larger models keep no copy of their parameters, so reads after the first update fail. */
const maxCopiedBytes = 16e6;

/** The first steps of structures, until the second ones. */
const first = new WeakMap<StepPlan, WeakRef<PastStep>>();

/**
 * Call it before the step runs. Before the first one of its structure, the elements of the leaves must have arrived.
 *
 * @param order all nodes of the loss
 */
export function rememberStep({ plan, leaves }: TrainingStep, order: readonly Node[]): void {
  const step: PastStep = { plan, order, before: undefined };
  if (!plan.hasRun) {
    step.before = copiesOf(leaves.map(({ source }) => source));
    first.set(plan, new WeakRef(step));
  } else {
    const known = first.get(plan)?.deref();
    if (known) known.before = undefined;
    first.delete(plan);
  }
  for (const node of order) if (node.inputs.length > 0) node.step = step;
}

function stepOf(node: Node): PastStep | undefined {
  return node.step as PastStep | undefined;
}

/** True if an earlier backward pass computed the node. */
export function isOfStep(node: Node): boolean {
  return node.step !== undefined;
}

/**
 * The values of earlier steps that nodes outside of those read.
 *
 * @param roots the values that are read, which are among them if a step computed them
 * @param nodes of its graph, without cached ones
 */
export function readFromSteps(roots: readonly Value[], nodes: readonly Node[]): Value[] {
  const found = new Set(roots.filter(({ node }) => isOfStep(node)));
  for (const node of nodes) {
    for (const value of node.inputs) {
      const { step } = value.node;
      if (step !== undefined && step !== node.step) found.add(value);
    }
  }
  return [...found].filter((value) => cachedElements(value) === undefined);
}

/** Later steps of the same structures write these values, of `readFromSteps`. */
export function keepFromNowOn(values: readonly Value[]): void {
  for (const { node, index } of values) {
    const { plan, order } = stepOf(node)!;
    keepValue(plan, { node: order.indexOf(node), output: index });
  }
}

/**
 * Computes the values that the first step of a structure had before its update, and keeps them. The others stay unknown.
 *
 * @param bufferOf buffers of callers' arrays
 */
export async function computeBeforeUpdate(values: readonly Value[], bufferOf: BufferOf): Promise<void> {
  for (const value of values) {
    const { before } = stepOf(value.node)!;
    if (before === undefined) continue;
    const [elements] = await evaluate([value], {
      bufferOf: (source, memory) => {
        const copy = before.get(source);
        return copy === undefined ? bufferOf(source, memory) : memory.upload(copy);
      },
    });
    cacheElements(value, elements);
  }
}

function copiesOf(sources: readonly Source[]): ReadonlyMap<Source, TensorData> | undefined {
  const changeable = sources.filter(({ memory }) => memory !== undefined);
  const bytes = changeable.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (bytes > maxCopiedBytes) return undefined;
  return new Map(changeable.map((source) => [source, source.data.slice()]));
}
