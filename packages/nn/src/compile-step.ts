import { recordedCallsVersion } from '@ringrun/core';
import type { TensorData } from './dtype.ts';
import { step, stepAgain, stepsAgain, type Replacements } from './autograd.ts';
import { elementUseOf } from './element-checks.ts';
import { ArgumentError } from './errors.ts';
import type { ValueType } from './graph/node.ts';
import { input } from './ops/source.ts';
import { clippingOf, clippingOptionNames, type ClippingOptions } from './optim/clipping.ts';
import { Optimizer, type CommonSettings } from './optim/optimizer.ts';
import { RecordedStep } from './recorded-step.ts';
import { requireBoolean } from './require-boolean.ts';
import { requireOptions, type OptionNames } from './require-options.ts';
import { describeValue } from './stored-tensor.ts';
import { Tensor } from './tensor.ts';

/** Options of {@link compileStep}. */
export interface CompileStepOptions extends ClippingOptions {
  /**
   * If true, `lossOf` runs once for each combination of shapes, dtypes and other arguments, and later calls repeat its graph
   * with their tensors, as `jax.jit` does. Whatever else `lossOf` reads in JavaScript keeps the value of that call: numbers
   * of its closure, branches, forward hooks. It runs again after `train`, `eval` and `requiresGrad` change a model or
   * parameter, and after a model is wrapped. It runs at every call if the repetition would be wrong: with dropout, running
   * statistics or collectives in the graph, buffers that DistributedDataParallel broadcasts, `join`, tensors made inside
   * `lossOf`, `tensor.elements()`, and arguments that are computed tensors. Default: false.
   */
  traceOnce?: boolean;
  /**
   * If false, a step reads the arrays of its tensors until its promise settles, without a copy. Change or transfer them only
   * after `await step(…)`; a step that sees another batch in them fails with ERR_NOT_AWAITED. If true, a step copies them at
   * the call, so that they may be changed at once. Default: true.
   */
  copyInputs?: boolean;
}

const optionNames: OptionNames<CompileStepOptions> = {
  ...clippingOptionNames,
  traceOnce: true,
  copyInputs: true,
};

/** A compiled training step: see {@link compileStep}. */
export interface CompiledStep<Arguments extends unknown[]> {
  /**
   * Computes one step. Resolves with the loss when the parameters are updated.
   */
  (...batch: Arguments): Promise<Tensor>;
  /**
   * Computes one step for each batch, in their order, with the numbers of as many single calls, and with the optimizer's settings
   * at the time of the call. With `traceOnce`, steps follow one another without JavaScript in between, so that a step of a small
   * model costs its kernels only (Keras: `steps_per_execution`); the event loop is free meanwhile. Where a step needs JavaScript,
   * and with `shareParameters` or `faultTolerance`, the batches are single steps. All ranks must compute the same number of steps,
   * but may divide them differently.
   *
   * @param batches the arguments of each step. With `copyInputs: false`, all of them stay unchanged until the promise settles.
   * @returns the losses, when all steps have ended
   * @throws ArgumentError if it is not a list of lists; what a single call throws. If one of the batches cannot be used, no step
   *   has been computed. If a step fails, the steps before it have changed the parameters.
   */
  each(batches: readonly Arguments[]): Promise<Tensor[]>;
}

/** Recorded graphs that a step keeps. */
const maxRecorded = 16;

/**
 * Compiles a whole training step: returns a function that computes the loss of its arguments, its gradients, their average
 * over the ranks, and the optimizer's update, in one run. It replaces
 *
 * ```ts
 * const loss = lossOf(...batch);
 * optimizer.zeroGrad();
 * await loss.backward();
 * await optimizer.step(options);
 * ```
 *
 * and computes the same numbers. A parameter is updated as soon as the bucket of its gradient has been averaged. `lossOf`
 * runs at every call, as it does without `compileStep`, unless `traceOnce` is set: a new structure or new shapes compile
 * again, values do not.
 *
 * Gradients do not accumulate, and the parameters' `grad` have those of the last step; they are undefined with
 * DistributedDataParallel's `shareParameters`, because no rank averages all of them. To accumulate or change gradients, call
 * `backward` and `step`. To clip them, pass `clipGradNorm` or `clipGradValue`. With a communication hook,
 * `join`, `faultTolerance` or `errorIfNonfinite`, and if the loss does not depend on all parameters, the step is several
 * runs. If a collective fails, some parameters may have been updated.
 *
 * @param optimizer has the parameters that are updated
 * @param lossOf returns the loss: one float32 number. Called synchronously.
 * @param options how gradients are clipped (default: they are not), how often `lossOf` runs, and whether arrays are copied
 * @returns a function that resolves with the loss when the parameters are updated; its method `each` computes several steps.
 * Calls run in their order, even if they are not awaited. Reading the loss (`await loss.item()`) costs nothing.
 * @throws ArgumentError if an argument is not an optimizer or a function, and from the returned function if `lossOf` does
 *   not return a tensor; ArgumentError for options that cannot be used
 * @throws NnError (ERR_NONFINITE) from the returned function with `errorIfNonfinite`, without changing a parameter;
 *   (ERR_NOT_AWAITED) with `copyInputs: false`, if an array was changed during the step
 */
export function compileStep<Arguments extends unknown[], Settings extends CommonSettings>(
  optimizer: Optimizer<Settings>,
  lossOf: (...batch: Arguments) => Tensor,
  options: CompileStepOptions = {},
): CompiledStep<Arguments> {
  if (!(optimizer instanceof Optimizer)) {
    throw new ArgumentError(
      `compileStep: expected an optimizer, got ${describeValue(optimizer)}. Pass new optim.SGD(…), then the function that returns the loss.`,
    );
  }
  if (typeof lossOf !== 'function') {
    throw new ArgumentError(
      `compileStep: expected a function that returns the loss, got ${describeValue(lossOf)}. Write compileStep(optimizer, (images, labels) => loss).`,
    );
  }
  requireOptions('compileStep', options, optionNames);
  const { traceOnce = false, copyInputs = true, ...clippingOptions } = options;
  requireBoolean('compileStep: traceOnce', traceOnce);
  requireBoolean('compileStep: copyInputs', copyInputs);
  const stepping = { clipping: clippingOf('compileStep', clippingOptions), copyInputs };
  const recorded: RecordedStep[] = [];

  const prepare = (batch: Arguments, records: readonly RecordedStep[]): PreparedCall => {
    for (const known of records) {
      const replacements = known.isCurrent ? known.replacements(batch) : undefined;
      if (replacements) return { known, replacements };
    }
    const version = recordedCallsVersion();
    const use = elementUseOf<unknown>(() => lossOf(...batch));
    const loss = use.result;
    if (!(loss instanceof Tensor)) {
      throw new ArgumentError(
        `compileStep: expected a function that returns a tensor, got ${describeValue(loss)}. Return the loss; it is not async.`,
      );
    }
    return { loss, record: traceOnce ? RecordedStep.of(loss.value, batch, use, version) : undefined };
  };

  const run = async (call: PreparedCall): Promise<Tensor> => {
    if ('known' in call) {
      const { known, replacements } = call;
      return lossTensor(await stepAgain(known, replacements, optimizer, stepping), known.training.loss);
    }
    const { loss, record } = call;
    await step(loss.value, optimizer, stepping);
    if (record) {
      // Those that are not current are never used again.
      const current = recorded.filter(({ isCurrent }) => isCurrent);
      recorded.splice(0, recorded.length, ...current.slice(1 - maxRecorded), record);
    }
    return loss;
  };

  const runTogether = async (calls: readonly PreparedCall[]): Promise<Tensor[]> => {
    const [first, ...others] = calls;
    if (others.length === 0 || !('known' in first)) return [await run(first)];
    const { known } = first;
    const batches = (calls as readonly RepeatedCall[]).map(({ replacements }) => replacements);
    const losses = await stepsAgain(known, batches, optimizer, stepping);
    return losses.map((loss) => lossTensor(loss, known.training.loss));
  };

  const each = async (batches: readonly Arguments[]): Promise<Tensor[]> => {
    requireBatches(batches);
    const records = [...recorded];
    // All of them before the first step, so that a batch that cannot be used changes nothing.
    const calls = batches.map((batch) => {
      const call = prepare(batch, records);
      if ('record' in call && call.record) records.push(call.record);
      return call;
    });
    const losses = await Promise.all(alike(calls).map(runTogether));
    return losses.flat();
  };

  return Object.assign(async (...batch: Arguments) => run(prepare(batch, recorded)), { each });
}

/** A call whose loss was traced, and its record for later calls. */
interface TracedCall {
  readonly loss: Tensor;
  readonly record: RecordedStep | undefined;
}

/** A call that repeats the graph of an earlier one. */
interface RepeatedCall {
  readonly known: RecordedStep;
  readonly replacements: Replacements;
}

type PreparedCall = TracedCall | RepeatedCall;

/** Neighbours that repeat the same graph, together. */
function alike(calls: readonly PreparedCall[]): PreparedCall[][] {
  const lists: PreparedCall[][] = [];
  for (const call of calls) {
    const last = lists.at(-1);
    const isAlike = last && 'known' in call && 'known' in last[0] && last[0].known === call.known;
    if (isAlike) last.push(call);
    else lists.push([call]);
  }
  return lists;
}

function requireBatches(batches: unknown): void {
  const wrong = Array.isArray(batches) ? batches.find((batch) => !Array.isArray(batch)) : batches;
  if (wrong === undefined) return;
  throw new ArgumentError(
    `each: expected a list of batches, each a list of the arguments of the loss, got ${describeValue(wrong)}. Write step.each([[images, labels], …]).`,
  );
}

/** A loss whose number is known, and from which no gradient can be computed again. */
function lossTensor(data: TensorData, { shape }: ValueType): Tensor {
  return new Tensor(input('float32', shape, { data }));
}
