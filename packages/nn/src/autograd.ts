import { allFinite, explainAnomaly } from './compiler/anomaly.ts';
import { compileTrainingStep } from './compiler/training-step.ts';
import { isScalar } from './compiler/differentiate.ts';
import { NnError } from './errors.ts';
import { describeType, isNode, type Value } from './graph/node.ts';
import { topologicalOrder } from './graph/topology.ts';

export interface BackwardOptions {
  /**
   * Whether a loss or a gradient that is NaN or infinite is an error, which names the operator where that began (torch.autograd.detect_anomaly): the
   * graph is then run again with everything that it computes on the way. Without such a number it costs a look at every gradient. Under DistributedDataParallel
   * the error is that of the rank whose own loss or gradient it is. False unless given.
   */
  detectAnomaly?: boolean;
}

/** The pass that was begun last. They take turns, since they write to the same gradients, and each adds to what the one before has left. */
let last: Promise<unknown> = Promise.resolve();

/** Runs forward and backward for a loss, delivers the gradients, and resolves with the loss's number. */
export function backward(loss: Value, options: BackwardOptions = {}): Promise<number> {
  const pass = last.then(() => backwardNow(loss, options));
  last = pass.catch(() => undefined);
  return pass;
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
  const earlier = parameters.map(({ grad }) => grad?.slice());
  const places = parameters.map((parameter) => parameter.gradientPlace());
  const lossOutput = new Float32Array(1);
  const deliver = (positions: Iterable<number>) => {
    for (const position of positions) {
      accumulate(places[position], earlier[position]);
      parameters[position].gradientWritten();
    }
  };
  // Where gradients may turn out to be wrong, none is delivered before all have been seen.
  await step.run(lossOutput, places, detectAnomaly ? () => undefined : deliver);
  if (detectAnomaly) {
    if (![lossOutput, ...places].every((numbers) => allFinite(numbers))) {
      for (const [position, gradient] of earlier.entries()) if (gradient) places[position].set(gradient);
      throw new NnError('ERR_NONFINITE', `backward: ${await explainAnomaly(loss)}`);
    }
    deliver(places.keys());
  }
  for (const parameter of parameters) await parameter.backwardDone();
  return lossOutput[0];
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
