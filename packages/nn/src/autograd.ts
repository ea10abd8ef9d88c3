import { allFinite, explainAnomaly } from './compiler/anomaly.ts';
import { evaluate } from './compiler/compile.ts';
import { isScalar } from './compiler/differentiate.ts';
import { compileTrainingStep, type TrainingStep } from './compiler/training-step.ts';
import { Transcript } from './compiler/transcript.ts';
import type { TensorData } from './dtype.ts';
import { NnError } from './errors.ts';
import { isCollective } from './graph/collective.ts';
import { describeType, isNode, type Value } from './graph/node.ts';
import type { GradientReceiver } from './graph/operators.ts';
import { topologicalOrder } from './graph/topology.ts';
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

/** The run that was begun last, of those that take turns. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs forward and backward for a loss, delivers the gradients, and resolves with the loss's number. Passes take turns, since they write to the same gradients, and
 * each adds to what the one before has left.
 */
export async function backward(loss: Value, options: BackwardOptions = {}): Promise<number> {
  requireOptions('backward', options, optionNames);
  return inTurn(() => backwardNow(loss, options));
}

/**
 * Computes a value into an array. One that needs collectives takes turns with backward passes, which have collectives too, in the order of the calls: it is the
 * same on every rank, where the time that each run takes is not.
 */
export function read(value: Value, into: TensorData): Promise<void> {
  const run = () => evaluate([value], [into]);
  return topologicalOrder([value]).some(isCollective) ? inTurn(run) : run();
}

function inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
  const result = last.then(run);
  last = result.catch(() => undefined);
  return result;
}

async function backwardNow(loss: Value, { detectAnomaly = false }: BackwardOptions): Promise<number> {
  if (!isScalar(loss)) {
    throw new NnError(
      'ERR_BACKWARD',
      `backward: a loss is one float32 number, given ${describeType(loss)}; reduce it first, by sum() or mean().`,
    );
  }
  const step = await compileTrainingStep(loss);
  const parameters = step.trainable.map(({ source }) => source.parameter!);
  if (parameters.length === 0) {
    throw new NnError('ERR_BACKWARD', whyNothingIsTrained(loss));
  }
  const gradients = new Gradients(parameters);
  const number = new Float32Array(1);
  try {
    if (detectAnomaly) await runLookingForAnomalies(loss, step, number, gradients);
    else await step.run(number, gradients.places, gradients.deliver);
  } catch (error) {
    gradients.restoreUndelivered();
    throw error;
  }
  for (const parameter of parameters) await parameter.backwardDone();
  return number[0];
}

/** Where gradients may turn out to be wrong, none is delivered before all have been seen. */
async function runLookingForAnomalies(
  loss: Value,
  step: TrainingStep,
  number: Float32Array,
  { places, deliver }: Gradients,
): Promise<void> {
  const transcript = new Transcript();
  await step.run(number, places, () => undefined, transcript.recording);
  if (![number, ...places].every((numbers) => allFinite(numbers))) {
    throw new NnError('ERR_NONFINITE', `backward: ${await explainAnomaly(loss, transcript.replaying)}`);
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
