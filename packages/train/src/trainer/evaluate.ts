import { InvalidArgumentError } from '@ringrun/core';
import { Tensor, cat, noGrad, tensor } from '@ringrun/nn';
import type { MetricInput } from '../metrics/input.ts';
import { MetricCollection } from '../metrics/metric-collection.ts';
import { overRanks } from '../metrics/state.ts';
import { samplesIn, tensorsOf } from './batch.ts';
import type { EvaluateOptions, Models, ValidationResult } from './fit-options.ts';
import type { WrappedModels } from './models.ts';
import { byName, inPrecision } from './step.ts';
import type { TrainerOptions } from './trainer-options.ts';

type AnyEvaluateOptions = EvaluateOptions<Models, unknown>;

/**
 * Evaluates a model on the shares of all ranks, in evaluation mode. A collective. Returns the metrics, then the loss if there is one;
 * the same on all ranks.
 */
export async function evaluateModels(
  models: WrappedModels,
  given: AnyEvaluateOptions,
  options: TrainerOptions,
): Promise<Record<string, unknown>> {
  const { metrics = {} } = given;
  const collection = metrics instanceof MetricCollection ? metrics : new MetricCollection(metrics);
  const hasMetrics = Object.keys(collection.metrics).length > 0;
  const losses = new Float64Array(2);
  const step = validationStepOf(models, given, (run) => noGrad(() => inPrecision(options, run)), hasMetrics);
  // Batch normalization evaluates with rank 0's running statistics on every rank.
  models.syncBuffers();
  const restore = models.evaluating();
  collection.reset();
  try {
    for await (const batch of given.loader) {
      const { loss, predictions, target, samples } = await inOneRun(await step(batch), hasMetrics);
      if (hasMetrics && predictions !== undefined && target !== undefined)
        await collection.update(predictions, target);
      if (loss === undefined) continue;
      const weight = samples ?? samplesIn(target ?? batch);
      losses[0] += weight * (typeof loss === 'number' ? loss : await loss.item());
      losses[1] += weight;
    }
  } finally {
    restore();
  }
  return await models.retry(async (group) => {
    const values: Record<string, unknown> = { ...(await collection.compute({ ...(group && { group }) })) };
    const [{ sums }] = await overRanks([{ sums: losses, lists: [] }], group);
    if (sums[1] > 0) values['loss'] = sums[0] / sums[1];
    return values;
  });
}

/**
 * @param compute runs a forward pass without gradients, in the precision of the trainer
 * @param hasMetrics whether predictions are read
 */
function validationStepOf(
  models: WrappedModels,
  { validationStep, batchLoss, inputs = tensorsOf, loss, predictions }: AnyEvaluateOptions,
  compute: <Result>(run: () => Result) => Result,
  hasMetrics: boolean,
): (batch: unknown) => ValidationResult | Promise<ValidationResult> {
  if (validationStep) return (batch) => compute(() => validationStep(batch, models.bare));
  if (batchLoss && !hasMetrics) {
    return (batch) => ({
      loss: compute(() => Object.values(byName(batchLoss(batch, models.bare)))[0]),
      samples: samplesIn(batch),
    });
  }
  const model = models.only;
  if (model === undefined || batchLoss) {
    throw new InvalidArgumentError(
      'Trainer: expected a validationStep for several models, or for a batchLoss with metrics, got none. Pass validationStep: (batch, models) => ({ loss, predictions, target }).',
    );
  }
  const module = models.modules['model'];
  const forward = module.forward.bind(module) as (...given: Tensor[]) => unknown;
  return async (batch) => {
    const tensors = inputs(batch);
    const target = tensors.at(-1)!;
    const lazy = compute(() => forward(...tensors.slice(0, -1)));
    // The loss of an output that is known does not compute the output again.
    const output = hasMetrics && lazy instanceof Tensor ? tensor(await lazy.array(), [...lazy.shape]) : lazy;
    return {
      ...(loss && { loss: compute(() => loss(output, target)) }),
      predictions: predictions ? predictions(output) : (output as MetricInput),
      target,
    };
  };
}

/** Loss and predictions of one forward pass, which reading them one after the other would compute twice. */
async function inOneRun(result: ValidationResult, hasMetrics: boolean): Promise<ValidationResult> {
  const { loss, predictions } = result;
  const areFloats = [loss, predictions].every((one) => one instanceof Tensor && one.dtype === 'float32');
  if (!hasMetrics || !areFloats) return result;
  const [own, scores] = [loss, predictions] as [Tensor, Tensor];
  const values = (await noGrad(() => cat([own.flatten(), scores.flatten()])).array()) as Float32Array;
  return { ...result, loss: values[0], predictions: tensor(values.slice(1), [...scores.shape]) };
}
