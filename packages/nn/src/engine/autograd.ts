import { CapturedInputs } from './captured-inputs.ts';
import { arrivalOf, evaluate, evaluateSync, type BufferOf, type RunOptions } from '../compiler/compile.ts';
import { allFinite, explainAnomaly } from '../compiler/anomaly.ts';
import { isScalar } from '../compiler/differentiate.ts';
import { TrainingStep } from '../compiler/training-step.ts';
import { newArray, type Scalar, type TensorData } from '../dtype.ts';
import { recordElementRead } from '../graph/element-checks.ts';
import { ArgumentError, NnError } from '../errors/errors.ts';
import { findOutdated, outdatedError } from '../graph/changes.ts';
import { isNode, type Node, type Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { topologicalOrder } from '../graph/topology.ts';
import {
  cacheElements,
  cachedElements,
  differentiatedNodes,
  uncachedPartOf,
  withCachedLeaves,
  type UncachedPart,
} from './value-cache.ts';
import { backwardOfMany, noGradient } from './backward-errors.ts';
import { explicitLossOf } from './explicit-gradients.ts';
import { sourcesOf, type RunInputs } from './run-inputs.ts';
import { runStep } from './run-step.ts';
import {
  computeBeforeUpdate,
  isOfStep,
  keepFromNowOn,
  readFromSteps,
  rememberStep,
} from './values-of-steps.ts';
import type { PreparedStep } from './prepared-step.ts';
import { enqueue, requireIdle, type Operation } from '../executor/operation-queue.ts';

/** How a backward pass runs. */
export interface PassOptions {
  /** See `BackwardOptions`. Default: false. */
  readonly detectAnomaly?: boolean | undefined;
  /** Gradient of the loss, for one of several elements. Default: 1. */
  readonly gradient?: Value | undefined;
  /** Values whose gradients are computed. Default: those of all parameters, and of tensors with `requiresGrad`. */
  readonly inputs?: ReadonlySet<Value> | undefined;
}

/**
 * Runs forward and backward for a loss, delivers the gradients, and keeps the value of the loss. Backward passes run one
 * after another, and not during optimizer steps, since they accumulate into the same gradients.
 */
export async function backward(loss: Value, options: PassOptions): Promise<void> {
  const explicit = explicitLossOf(loss, options);
  const values = explicit ? [explicit.loss, ...explicit.others] : [loss];
  const order = topologicalOrder(values);
  const inputs = new CapturedInputs(sourcesOf(uncachedPartOf(values, order, 'differentiate').nodes));
  try {
    await enqueue(operationOn(order, 'loss.backward()', true), async () => {
      const others = await backwardNow(values, order, inputs, options);
      explicit?.deliver(others);
    });
  } finally {
    inputs.release();
  }
}

/**
 * Computes the elements of a value into a new array. Computations, backward passes and optimizer steps run in call order,
 * so values use the parameters at the time of the call, and collectives have the same order on all ranks.
 *
 * @param name of the public method
 */
export async function read(value: Value, name: string): Promise<TensorData> {
  const order = topologicalOrder([value]);
  const inputs = new CapturedInputs(sourcesOf(uncachedPartOf([value], order, 'read').nodes));
  try {
    return await enqueue(operationOn(order, `tensor.${name}()`, false), () =>
      readNow(value, order, name, inputs),
    );
  } finally {
    inputs.release();
  }
}

/** Computes and keeps the number of a value with one element. */
export async function readNumber(value: Value): Promise<number> {
  const kept = cachedElements(value);
  if (kept !== undefined) return exactNumber(kept[0]);
  const number = await read(value, 'item');
  cacheElements(value, number);
  return exactNumber(number[0]);
}

/** `read`, which blocks the event loop until the elements are computed. */
export function readSync(value: Value, name: string): TensorData {
  recordElementRead();
  const kept = cachedElements(value);
  if (kept !== undefined) return kept.slice();
  requireIdle(`tensor.${name}()`);
  const order = topologicalOrder([value]);
  if (order.some(isOfStep)) {
    keepFromNowOn(readFromSteps([value], computed(uncachedPartOf([value], order, 'read'))));
  }
  const array = newArray(value.dtype, sizeOf(value.shape));
  evaluateSync([remainderOf(value, order, name)], [array], `tensor.${name}()`);
  return array;
}

function exactNumber(element: Scalar): number {
  const number = Number(element);
  if (typeof element === 'number' || Number.isSafeInteger(number)) return number;
  throw new ArgumentError(
    `item: expected an integer that a number holds exactly, up to 2^53, got ${element}. Read the bigint: (await x.array())[0].`,
  );
}

/** `readNumber`, which blocks the event loop. */
export function readNumberSync(value: Value): number {
  const number = readSync(value, 'itemSync');
  cacheElements(value, number);
  return exactNumber(number[0]);
}

async function readNow(
  value: Value,
  order: readonly Node[],
  name: string,
  { of: bufferOf }: CapturedInputs,
): Promise<TensorData> {
  // An earlier operation may have computed the value since the call.
  const kept = cachedElements(value);
  if (kept !== undefined) return kept.slice();
  if (order.some(isOfStep)) {
    const nodes = computed(uncachedPartOf([value], order, 'read'));
    await keepRead(readFromSteps([value], nodes), nodes, bufferOf);
    const ofStep = cachedElements(value);
    if (ofStep !== undefined) return ofStep.slice();
  }
  const [elements] = await evaluate([remainderOf(value, order, name)], { bufferOf });
  return elements;
}

/** Keeps values of earlier steps from now on, and computes those that an update has made outdated. */
async function keepRead(values: readonly Value[], nodes: readonly Node[], bufferOf: BufferOf): Promise<void> {
  if (values.length === 0) return;
  keepFromNowOn(values);
  if (findOutdated(nodes) !== undefined) await computeBeforeUpdate(values, bufferOf);
}

/** The graph that computes a value from the known elements. */
function remainderOf(value: Value, order: readonly Node[], name: string): Value {
  const remainder = uncachedPartOf([value], order, 'read');
  const outdated = findOutdated(computed(remainder));
  if (outdated) {
    throw outdatedError(
      `${name}: ${describeType(value)}`,
      outdated,
      'Read it before the change and continue with the numbers: tensor(await x.array(), x.shape).',
    );
  }
  return withCachedLeaves([value], remainder)[0];
}

function computed({ nodes, isCached }: UncachedPart): readonly Node[] {
  return nodes.filter((node) => !isCached(node));
}

/** An operation that computes nodes. */
export function operationOn(order: readonly Node[], name: string, changes: boolean): Operation {
  const leaves = () => order.filter((node) => isNode(node, 'Input'));
  return {
    name,
    changes,
    memory: () =>
      new Set(leaves().map(({ attributes: { source } }) => source.memory?.identity ?? source.data)),
  };
}

/**
 * `backward` inside a running operation, followed by the optimizer's step that `optimizerStep` returns. Default: no step.
 *
 * @param values the loss, then values that the same run computes
 * @param order all of their nodes
 * @returns the elements of the values after the loss
 */
export async function backwardNow(
  values: readonly Value[],
  order: readonly Node[],
  { of: bufferOf }: RunInputs,
  { detectAnomaly = false }: Pick<PassOptions, 'detectAnomaly'>,
  optimizerStep?: () => PreparedStep,
): Promise<readonly TensorData[]> {
  const [written] = values;
  if (!isScalar(written)) throw backwardOfMany(written);
  let remainder = uncachedPartOf(values, order, 'differentiate');
  if (order.some(isOfStep) && (await keepConstants(values, remainder, bufferOf))) {
    remainder = uncachedPartOf(values, order, 'differentiate');
  }
  const outdated = findOutdated(computed(remainder));
  if (outdated) {
    throw outdatedError(
      'backward: the loss',
      outdated,
      'Call backward before the change, or recompute the loss. Write a constant part as tensor(await x.array(), x.shape).',
    );
  }
  const { loss, auxiliary, nodes, writtenNodes } = differentiable(values, remainder);
  const step = new TrainingStep(loss, nodes, auxiliary);
  if (step.trainable.length === 0) {
    if (values.length === 1 || !isExplicit(written)) throw noGradient(written);
    return await onlyOthers(values, remainder, { bufferOf }, detectAnomaly);
  }
  const pending = step.plan.hasRun ? undefined : arrivalOf(step.leaves);
  if (pending) await pending;
  rememberStep(step, writtenNodes);
  const anomalies = detectAnomaly ? loss : undefined;
  const segments = detectAnomaly ? undefined : step.inSegments();
  const result = await runStep(step, { bufferOf, anomalies, segments }, optimizerStep);
  const [[number, ...others]] = result.values;
  cacheElements(written, number);
  if (isExplicit(written)) cacheElements(written.node.inputs[0], number);
  for (const [index, { node, output }] of step.kept.entries()) {
    cacheElements(writtenNodes[node].outputs[output], result.kept[index]);
  }
  await result.updateAfterwards?.();
  return others;
}

/** The gradients of tensors alone, none of which is a parameter. */
async function onlyOthers(
  values: readonly Value[],
  remainder: UncachedPart,
  options: RunOptions,
  detectAnomaly: boolean,
): Promise<readonly TensorData[]> {
  const all = withCachedLeaves(values, remainder);
  const [number, ...others] = await evaluate(all, options);
  if (detectAnomaly && ![number, ...others].every((one) => allFinite(one as Float32Array))) {
    throw new NnError('ERR_NONFINITE', `backward: ${await explainAnomaly(all[0], options, all.slice(1))}`);
  }
  cacheElements(values[0].node.inputs[0], number);
  return others;
}

function isExplicit({ node }: Value): boolean {
  return isNode(node, 'GivenGradients');
}

/** Keeps values of earlier steps that a loss reads through `detach`. Returns true if there are any. */
async function keepConstants(
  values: readonly Value[],
  remainder: UncachedPart,
  bufferOf: BufferOf,
): Promise<boolean> {
  const needed = computed(remainder);
  const read = readFromSteps(values, needed);
  if (read.length === 0) return false;
  const differentiated = differentiatedNodes(values[0]);
  const constants = read.filter(({ node }) => !differentiated.has(node));
  await keepRead(constants, needed, bufferOf);
  return constants.length > 0;
}

/** A loss and the values computed with it, with cached elements in place of their nodes. */
interface Differentiable {
  readonly loss: Value;
  readonly auxiliary: readonly Value[];
  /** All of their nodes. */
  readonly nodes: readonly Node[];
  /** For each of `nodes`, the node of the program's own graph. */
  readonly writtenNodes: readonly Node[];
}

function differentiable(written: readonly Value[], remainder: UncachedPart): Differentiable {
  const originals = computed(remainder);
  const { nodes } = remainder;
  if (originals.length === nodes.length) {
    const [loss, ...auxiliary] = written;
    return { loss, auxiliary, nodes, writtenNodes: nodes };
  }
  const all = [...written, ...originals.map(({ outputs }) => outputs[0])];
  const rebuilt = withCachedLeaves(all, remainder);
  const [loss, ...auxiliary] = rebuilt.slice(0, written.length);
  const originalOf = new Map(originals.map((node, index) => [rebuilt[written.length + index].node, node]));
  const order = topologicalOrder([loss, ...auxiliary]);
  return { loss, auxiliary, nodes: order, writtenNodes: order.map((node) => originalOf.get(node) ?? node) };
}
