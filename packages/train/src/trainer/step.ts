import { InvalidArgumentError } from '@ringrun/core';
import { autocast, compileStep, type CompileStepOptions, type optim, type Tensor } from '@ringrun/nn';
import { tensorsOf } from './batch.ts';
import type { FitOptions, InputsAndTarget, LossValue, Models, StepContext } from './fit-options.ts';
import type { WrappedModels } from './models.ts';
import type { TrainerOptions } from './trainer-options.ts';

/** What a step needs to know beside its batch. */
export interface Position {
  readonly globalStep: number;
  readonly currentEpoch: number;
  readonly batchIndex: number;
  /** Whether the batch begins and ends an optimizer step. */
  readonly begins: boolean;
  readonly ends: boolean;
}

/** Trains on a batch. Resolves with its losses by name; the first is shown. */
export type TrainBatch = (batch: unknown, position: Position) => Promise<Readonly<Record<string, LossValue>>>;

type AnyFitOptions = FitOptions<Models, unknown>;

/** The step of a training: the program's own, a compiled one, or passes that accumulate. */
export function trainBatchOf(
  models: WrappedModels,
  fit: AnyFitOptions,
  optimizers: Readonly<Record<string, optim.Optimizer>>,
  options: TrainerOptions,
): TrainBatch {
  return fit.trainingStep
    ? ownStep(fit.trainingStep, models, optimizers, options)
    : automaticStep(models, fit, onlyOptimizer(optimizers), options);
}

function ownStep(
  step: NonNullable<AnyFitOptions['trainingStep']>,
  models: WrappedModels,
  optimizers: Readonly<Record<string, optim.Optimizer>>,
  options: TrainerOptions,
): TrainBatch {
  const contradicting = ['accumulateGradBatches', 'gradientClipVal', 'precision', 'compile'] as const;
  const given = contradicting.find((name) => options[name] !== undefined);
  if (given !== undefined) {
    throw new InvalidArgumentError(
      `Trainer.fit: expected no ${given} with a trainingStep, which makes whole steps itself, got it. Leave it out, and use it in trainingStep.`,
    );
  }
  const model = models.wrapped as StepContext<Models>['model'];
  return async (batch, { globalStep, currentEpoch, batchIndex }) => {
    const result = await step(batch, { model, optimizers, globalStep, currentEpoch, batchIndex });
    const isLoss = typeof result === 'number' || typeof (result as Partial<Tensor>).item === 'function';
    return isLoss ? { loss: result as LossValue } : (result as Readonly<Record<string, LossValue>>);
  };
}

function automaticStep(
  models: WrappedModels,
  { inputs = tensorsOf, loss }: AnyFitOptions,
  optimizer: optim.Optimizer,
  options: TrainerOptions,
): TrainBatch {
  const model = models.only;
  if (model === undefined || loss === undefined) {
    throw new InvalidArgumentError(
      `Trainer.fit: expected ${model === undefined ? 'one model' : 'a loss'}, or a trainingStep, got neither. Pass loss: F.crossEntropy, for example.`,
    );
  }
  const forward = model.forward.bind(model) as (...given: Tensor[]) => unknown;
  const lossOf = (...tensors: Tensor[]) => loss(forward(...tensors.slice(0, -1)), tensors.at(-1)!);
  const clipping = clippingOf(options);
  const { accumulateGradBatches: passes = 1, compile = true } = options;
  if (compile !== false && passes === 1) {
    const step = compileStep(optimizer, lossOf, { ...compileOptions(options), ...clipping });
    return async (batch) => ({ loss: await step(...inputs(batch)) });
  }
  const backward = async (tensors: InputsAndTarget) => {
    const own = inPrecision(options, () => lossOf(...tensors));
    await (passes === 1 ? own : own.div(passes)).backward();
    return own;
  };
  return async (batch, { begins, ends }) => {
    if (begins) optimizer.zeroGrad();
    const own = ends ? await backward(inputs(batch)) : await models.noSync(() => backward(inputs(batch)));
    if (ends) await optimizer.step(clipping);
    return { loss: own };
  };
}

function compileOptions({ compile, precision }: TrainerOptions): CompileStepOptions {
  return {
    ...(typeof compile === 'object' && compile),
    ...(precision === 'bf16' && { autocast: 'bfloat16' }),
  };
}

function clippingOf({ gradientClipVal, gradientClipAlgorithm }: TrainerOptions): {
  clipGradNorm?: number;
  clipGradValue?: number;
} {
  if (gradientClipVal === undefined) return {};
  return gradientClipAlgorithm === 'value'
    ? { clipGradValue: gradientClipVal }
    : { clipGradNorm: gradientClipVal };
}

/** Runs a forward pass in the precision of the trainer. */
export function inPrecision<Result>({ precision }: TrainerOptions, run: () => Result): Result {
  return precision === 'bf16' ? autocast({ dtype: 'bfloat16' }, run) : run();
}

function onlyOptimizer(optimizers: Readonly<Record<string, optim.Optimizer>>): optim.Optimizer {
  const all = Object.values(optimizers);
  if (all.length === 1) return all[0];
  throw new InvalidArgumentError(
    `Trainer.fit: expected one optimizer, or a trainingStep, got ${all.length} optimizers. Pass a trainingStep that steps them.`,
  );
}
