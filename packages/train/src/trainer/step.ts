import { InvalidArgumentError } from '@ringrun/core';
import { Tensor, autocast, compileStep, type CompileStepOptions, type optim } from '@ringrun/nn';
import { tensorsOf } from './batch.ts';
import type { FitOptions, LossValue, Models, StepContext } from './fit-options.ts';
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

/** A step of the Trainer: the loss, its gradients, and the optimizer's step, in one run or in parts. */
function automaticStep(
  models: WrappedModels,
  fit: AnyFitOptions,
  optimizer: optim.Optimizer,
  options: TrainerOptions,
): TrainBatch {
  const { argumentsOf, lossesOf } = fit.batchLoss
    ? lossesOfBatch(models, fit.batchLoss, options)
    : lossOfOutput(models, fit);
  const clipping = clippingOf(options);
  const { accumulateGradBatches: passes = 1, compile = true } = options;
  if (compile !== false && passes === 1) {
    let names: string[] = [];
    const listed = (...args: unknown[]): readonly [Tensor, Tensor[]] => {
      const losses = lossesOf(...args);
      names = Object.keys(losses);
      const [own, ...others] = Object.values(losses);
      return [own, others];
    };
    const step = compileStep(optimizer, listed, { ...compileOptions(options), ...clipping });
    return async (batch) => {
      const [own, others] = await step(...argumentsOf(batch));
      return Object.fromEntries([own, ...others].map((loss, index) => [names[index], loss]));
    };
  }
  const backward = async (batch: unknown) => {
    const losses = inPrecision(options, () => lossesOf(...argumentsOf(batch)));
    const [own] = Object.values(losses);
    await (passes === 1 ? own : own.div(passes)).backward();
    return losses;
  };
  return async (batch, { begins, ends }) => {
    if (begins) optimizer.zeroGrad();
    const losses = ends ? await backward(batch) : await models.noSync(() => backward(batch));
    if (ends) await optimizer.step(clipping);
    return losses;
  };
}

/** How the losses of a batch are computed from arguments that are made of it. */
interface LossesOf {
  readonly argumentsOf: (batch: unknown) => readonly unknown[];
  readonly lossesOf: (...args: unknown[]) => Readonly<Record<string, Tensor>>;
}

/** The program's own function. It runs in every step, since the graph may depend on more than tensors. */
function lossesOfBatch(
  models: WrappedModels,
  batchLoss: NonNullable<AnyFitOptions['batchLoss']>,
  { compile }: TrainerOptions,
): LossesOf {
  if (typeof compile === 'object' && compile.traceOnce === true) {
    throw new InvalidArgumentError(
      'Trainer.fit: expected no compile.traceOnce with batchLoss, which runs in every step, got it. Leave it out.',
    );
  }
  const lossesOf = (batch: unknown) => byName(batchLoss(batch, models.wrapped));
  return { argumentsOf: (batch) => [batch], lossesOf };
}

/** The losses of a `batchLoss`; one alone has the name `loss`. */
export function byName(losses: Tensor | Readonly<Record<string, Tensor>>): Readonly<Record<string, Tensor>> {
  return losses instanceof Tensor ? { loss: losses } : losses;
}

function lossOfOutput(models: WrappedModels, { inputs = tensorsOf, loss }: AnyFitOptions): LossesOf {
  const model = models.only;
  if (model === undefined || loss === undefined) {
    throw new InvalidArgumentError(
      `Trainer.fit: expected ${model === undefined ? 'one model' : 'a loss'}, or a trainingStep, got neither. Pass loss: F.crossEntropy or a batchLoss, for example.`,
    );
  }
  const forward = model.forward.bind(model) as (...given: Tensor[]) => unknown;
  const lossesOf = (...args: unknown[]) => {
    const tensors = args as Tensor[];
    return { loss: loss(forward(...tensors.slice(0, -1)), tensors.at(-1)!) };
  };
  return { argumentsOf: inputs, lossesOf };
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
