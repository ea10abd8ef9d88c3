import { CapturedInputs } from './captured-inputs.ts';
import { allFinite, explainAnomaly } from './compiler/anomaly.ts';
import { evaluate, type RunOptions } from './compiler/compile.ts';
import { isScalar } from './compiler/differentiate.ts';
import { trainingStepOf, type TrainingStep } from './compiler/training-step.ts';
import { Transcript } from './compiler/transcript.ts';
import { newArray, type TensorData } from './dtype.ts';
import { NnError } from './errors.ts';
import { findOutdated, outdatedError } from './graph/changes.ts';
import { describeType, isNode, sizeOf, type Node, type Value } from './graph/node.ts';
import type { GradientReceiver } from './graph/operators.ts';
import { topologicalOrder } from './graph/topology.ts';
import { keep, keptNumber, remainderOf, withKept, type Remainder } from './kept.ts';
import { noteReached } from './strangers.ts';
import { inTurn, type Operation } from './turns.ts';
import { requireOptions, type OptionNames } from './require-options.ts';

export interface BackwardOptions {
  /**
   * Whether a loss or a gradient that is NaN or infinite is an error, which names the operator where that began (torch.autograd.detect_anomaly): the
   * graph is then run again with everything that it computes on the way. Without such a number it costs a look at every gradient. Under DistributedDataParallel
   * the error is that of the rank whose own loss or gradient it is. False unless given.
   */
  detectAnomaly?: boolean;
}

const optionNames: OptionNames<BackwardOptions> = { detectAnomaly: true };

/**
 * Runs forward and backward for a loss, delivers the gradients, and keeps the loss's number. Passes take turns with each other, since they write to the same gradients and each
 * adds to what the one before has left, and with the optimizer's steps.
 */
export async function backward(loss: Value, options: BackwardOptions = {}): Promise<void> {
  requireOptions('backward', options, optionNames);
  const order = topologicalOrder([loss]);
  const inputs = new CapturedInputs(remainderOf(loss, order, 'differentiate').nodes);
  try {
    await inTurn(operationOn(order, 'loss.backward()', true), () =>
      backwardNow(loss, order, inputs, options),
    );
  } finally {
    inputs.release();
  }
}

/**
 * The elements of a value, in a new array. What is computed takes turns with backward passes and the optimizer's steps, in the order of the calls: so it is computed from the parameters
 * of that moment, and the collectives of a graph have one order on every rank, where the time that each run takes is not the same.
 *
 * @param name what users call
 */
export async function read(value: Value, name: string): Promise<TensorData> {
  const order = topologicalOrder([value]);
  const inputs = new CapturedInputs(remainderOf(value, order, 'read').nodes);
  try {
    return await inTurn(operationOn(order, `tensor.${name}()`, false), () =>
      readNow(value, order, name, inputs),
    );
  } finally {
    inputs.release();
  }
}

/** The number in a value of one element, which is kept. */
export async function readNumber(value: Value): Promise<number> {
  const number = keptNumber(value) ?? (await read(value, 'item'));
  keep(value, number);
  return Number(number[0]);
}

async function readNow(
  value: Value,
  order: readonly Node[],
  name: string,
  { of: arrayOf }: CapturedInputs,
): Promise<TensorData> {
  // An earlier operation may have computed it in the meantime.
  const kept = keptNumber(value);
  if (kept !== undefined) return kept.slice();
  const remainder = remainderOf(value, order, 'read');
  const outdated = findOutdated(computed(remainder));
  if (outdated) {
    throw outdatedError(
      `${name}: ${describeType(value)}`,
      outdated,
      'Read it before, and go on with the numbers: tensor(await x.array(), x.shape).',
    );
  }
  const data = newArray(value.dtype, sizeOf(value.shape));
  await evaluate([withKept(value, remainder)], [data], { arrayOf });
  return data;
}

function computed({ nodes, stands }: Remainder): readonly Node[] {
  return nodes.filter((node) => !stands(node));
}

function operationOn(order: readonly Node[], name: string, changes: boolean): Operation {
  const leaves = () => order.filter((node) => isNode(node, 'Input'));
  return {
    name,
    changes,
    arrays: () => new Set(leaves().map(({ attributes: { source } }) => source.place ?? source.data)),
  };
}

async function backwardNow(
  written: Value,
  order: readonly Node[],
  { of: arrayOf }: CapturedInputs,
  { detectAnomaly = false }: BackwardOptions,
): Promise<void> {
  if (!isScalar(written)) {
    throw new NnError(
      'ERR_BACKWARD',
      `backward: a loss is one float32 number, given ${describeType(written)}; reduce it first, by sum() or mean().`,
    );
  }
  const remainder = remainderOf(written, order, 'differentiate');
  const outdated = findOutdated(computed(remainder));
  if (outdated) {
    throw outdatedError(
      'backward: the loss',
      outdated,
      'Call backward before, or compute the loss anew from a forward call; a part that is a constant is tensor(await x.array(), x.shape).',
    );
  }
  const loss = withKept(written, remainder);
  const step = trainingStepOf(loss);
  const parameters = step.trainable.map(({ source }) => source.parameter!);
  if (parameters.length === 0) {
    throw new NnError('ERR_BACKWARD', whyNothingIsTrained(written));
  }
  const gradients = new Gradients(parameters);
  const number = new Float32Array(1);
  try {
    if (detectAnomaly) await runLookingForAnomalies(loss, step, number, gradients, { arrayOf });
    else await step.run(number, gradients.places, gradients.deliver, { arrayOf });
  } catch (error) {
    gradients.restoreUndelivered();
    throw error;
  }
  noteReached(parameters);
  for (const parameter of parameters) await parameter.backwardDone();
  keep(written, number);
}

/** Where gradients may turn out to be wrong, none is delivered before all have been seen. */
async function runLookingForAnomalies(
  loss: Value,
  step: TrainingStep,
  number: Float32Array,
  { places, deliver }: Gradients,
  options: RunOptions,
): Promise<void> {
  const transcript = new Transcript();
  await step.run(number, places, () => undefined, {
    ...options,
    through: transcript.recording,
  });
  if (![number, ...places].every((numbers) => allFinite(numbers))) {
    throw new NnError(
      'ERR_NONFINITE',
      `backward: ${await explainAnomaly(loss, { ...options, through: transcript.replaying })}`,
    );
  }
  deliver(places.keys());
}

/** The gradients of one pass, which are written where those of the passes before are, and added to them. */
class Gradients {
  readonly places: readonly Float32Array[];
  readonly #parameters: readonly GradientReceiver[];
  readonly #earlier: readonly (Float32Array | undefined)[];
  readonly #delivered = new Set<number>();

  constructor(parameters: readonly GradientReceiver[]) {
    this.#parameters = parameters;
    this.#earlier = parameters.map(({ grad }) => grad?.slice());
    this.places = parameters.map((parameter) => parameter.gradientPlace());
  }

  /** To be told of gradients that are in their places. */
  readonly deliver = (positions: Iterable<number>): void => {
    for (const position of positions) {
      this.#delivered.add(position);
      accumulate(this.places[position], this.#earlier[position]);
      this.#parameters[position].gradientWritten();
    }
  };

  /** What a pass that fails has not delivered is as before; what it has is being averaged. */
  restoreUndelivered(): void {
    for (const [position, gradient] of this.#earlier.entries()) {
      if (gradient && !this.#delivered.has(position)) this.places[position].set(gradient);
    }
  }
}

function whyNothingIsTrained(loss: Value): string {
  const depends = topologicalOrder([loss]).some(
    (node) => isNode(node, 'Input') && node.attributes.source.parameter !== undefined,
  );
  return depends
    ? 'backward: the loss leads to Parameters only through noGrad or detach(), which keep no way back; compute it outside of them.'
    : 'backward: the loss depends on no Parameter, so there is no gradient to compute.';
}

function accumulate(gradient: Float32Array, earlier: Float32Array | undefined): void {
  if (earlier === undefined) return;
  for (let i = 0; i < gradient.length; i += 1) gradient[i] += earlier[i];
}
