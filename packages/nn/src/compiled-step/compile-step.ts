import { autocast, isAutocastEnabled } from '../tensor/autocast.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import { recordedCallsVersion } from '@ringrun/core';
import type { TensorData } from '../dtype.ts';
import { BorrowedInputs } from '../engine/borrowed-inputs.ts';
import { explicitLossOf } from '../engine/explicit-gradients.ts';
import { elementUseOf } from '../graph/element-checks.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { ValueType } from '../value-type.ts';
import type { Value } from '../graph/node.ts';
import type { Source } from '../graph/source.ts';
import { sourceOfLeaf } from '../graph/source-of-leaf.ts';
import { calledByOperation, enqueue } from '../executor/operation-queue.ts';
import { input } from '../ops/source.ts';
import { clippingOf, clippingOptionNames, type ClippingOptions } from '../optim/clipping.ts';
import { Optimizer } from '../optim/optimizer.ts';
import { RecordedStep, type Replacements } from './recorded-step.ts';
import { openResult, type OpenedResult, type StepResult } from './step-result.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { step, stepAgain, stepNow, stepsNow } from './stepping.ts';
import { describeValue } from '../checks/describe-value.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Options of {@link compileStep}. */
export interface CompileStepOptions extends ClippingOptions {
  /**
   * If true, `lossOf` runs once for each combination of shapes, dtypes and other arguments, and later calls repeat its graph
   * with their tensors, as `jax.jit` does. Everything else that `lossOf` reads keeps its value from that first call: numbers
   * in its closure, branches, forward hooks. It runs again after `train`, `eval` and `requiresGrad` change a model or
   * parameter, and after a model is wrapped. It runs at every call if repeating the graph would be wrong: with dropout, running
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
  /**
   * 'bfloat16': calls `lossOf` inside `autocast`, so that matrix products, convolutions and attention compute in bfloat16.
   * Default: none, which computes in the dtypes of the operands.
   */
  autocast?: 'bfloat16' | undefined;
}

const optionNames: OptionNames<CompileStepOptions> = {
  ...clippingOptionNames,
  traceOnce: true,
  copyInputs: true,
  autocast: true,
};

/** A compiled training step: see {@link compileStep}. */
export interface CompiledStep<Arguments extends unknown[], Result extends StepResult = Tensor> {
  /** Computes one step. Resolves with what its function returned, when the parameters are updated. */
  (...batch: Arguments): Promise<Result>;
  /**
   * Computes one step for each batch, one after another, with the same results as awaited single calls. With `traceOnce`,
   * the steps run without JavaScript in between, and the event loop stays free: a small model's step
   * costs little more than its kernels (Keras: `steps_per_execution`). The first step for a set of shapes, steps that need
   * JavaScript, and those with `shareParameters` or `faultTolerance` run singly. All ranks must compute the same number of
   * steps, but may divide them into calls as they like.
   *
   * The arrays of the batches are read until the promise settles, even with `copyInputs`: await it before changing them or the
   * settings of the optimizer.
   *
   * @param batches the arguments of each step
   * @returns what the function returned for each batch, when all steps have ended
   * @throws ArgumentError if `batches` is not a list of lists; NnError (ERR_NOT_AWAITED) if an array was changed during the
   *   call; any error of a single call. The steps before the one that fails may have changed the parameters.
   */
  each(batches: readonly Arguments[]): Promise<Result[]>;
}

/** Recorded graphs that a step keeps at most. */
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
 * runs at every call, as it does without `compileStep`, unless `traceOnce` is set: a new structure or new shapes trigger a
 * new compilation, new values do not.
 *
 * Gradients do not accumulate, and each parameter's `grad` is that of the last step; it is undefined with
 * DistributedDataParallel's `shareParameters`, because no rank averages all of them. To accumulate or change gradients, call
 * `backward` and `step`. To clip them, pass `clipGradNorm` or `clipGradValue`. With a communication hook,
 * `join`, `faultTolerance` or `errorIfNonfinite`, or if the loss does not depend on all parameters, the step takes several
 * runs. If a collective fails, some parameters may have been updated.
 *
 * The function may return more than the loss: `[loss, { accuracy, logits }]`, or another list or object of tensors in the
 * second place (`has_aux` of jax.value_and_grad). The same run computes them, before the update. A step then resolves with a
 * list of the same form.
 *
 * @param optimizer holds the parameters to update
 * @param lossOf returns the loss (one float32 number), or a list of the loss and other tensors. Called synchronously.
 * @param options gradient clipping (default: none), how often `lossOf` runs, and whether arrays are copied
 * @returns a function that resolves with the result of `lossOf` when the parameters are updated. Its tensors have known elements
 * and no gradient. Its method `each` computes several steps.
 * Calls run in order, even if they are not awaited. Await earlier calls before one that runs `lossOf`: an update that finishes
 * after its graph was recorded makes the graph outdated (ERR_OUTDATED). Reading the loss (`await loss.item()`) costs nothing.
 * @throws ArgumentError if an argument is not an optimizer or a function, and from the returned function if `lossOf` does
 *   not return tensors; ArgumentError for invalid options
 * @throws NnError (ERR_NONFINITE) from the returned function with `errorIfNonfinite`, without changing a parameter;
 *   (ERR_NOT_AWAITED) with `copyInputs: false`, if an array was changed during the step
 */
export function compileStep<Arguments extends unknown[], Result extends StepResult = Tensor>(
  optimizer: Optimizer,
  lossOf: (...batch: Arguments) => Result,
  options: CompileStepOptions = {},
): CompiledStep<Arguments, Result> {
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
  const { traceOnce = false, copyInputs = true, autocast: dtype, ...clippingOptions } = options;
  if (dtype !== undefined) requireOneOf('compileStep', 'autocast', dtype, ['bfloat16']);
  const inDtype = <T>(run: () => T): T => (dtype === undefined ? run() : autocast({ dtype }, run));
  requireBoolean('compileStep: traceOnce', traceOnce);
  requireBoolean('compileStep: copyInputs', copyInputs);
  const stepping = { clipping: clippingOf('compileStep', clippingOptions), copyInputs };
  const recorded: Recorded<Result>[] = [];

  /** A call without a matching record. */
  const trace = async (
    batch: Arguments,
    run: (values: readonly Value[]) => Promise<readonly TensorData[]>,
    called = (call: () => unknown) => call(),
  ): Promise<Result> => {
    const version = recordedCallsVersion();
    const use = elementUseOf(() => called(() => inDtype(() => lossOf(...batch))) as Result);
    const { tensors, close } = openResult(use.result);
    const [loss, ...others] = tensors.map(({ value }) => value);
    // Hooks and functions with their own gradients run in every step.
    const explicit = explicitLossOf(loss);
    const values = explicit ? [explicit.loss, ...others, ...explicit.others] : [loss, ...others];
    const mayRecord = traceOnce && explicit === undefined;
    const record = mayRecord ? RecordedStep.of(values, withMode(batch), use, version) : undefined;
    const computed = await run(values);
    explicit?.deliver(computed.slice(others.length));
    if (record) {
      // Outdated records are never used again.
      const current = recorded.filter((one) => one.record.isCurrent);
      recorded.splice(0, recorded.length, ...current.slice(1 - maxRecorded), { record, close });
    }
    return close([tensors[0], ...others.map((value, index) => known(computed[index], value))]);
  };

  const single = async (...batch: Arguments): Promise<Result> => {
    for (const one of recorded) {
      const { record } = one;
      const replacements = record.isCurrent ? record.replacements(withMode(batch)) : undefined;
      if (replacements === undefined) continue;
      return resultOf(one, await stepAgain(record, replacements, optimizer, stepping));
    }
    return await trace(batch, (values) => step(values, optimizer, stepping));
  };

  /** The next steps of a list, inside an operation: those that repeat one graph, or one that is traced. */
  const nextSteps = async (batches: readonly Arguments[]): Promise<Result[]> => {
    const { clipping } = stepping;
    for (const one of recorded) {
      const { record } = one;
      const replaced = record.isCurrent ? leadingReplacements(record, batches) : [];
      if (replaced.length === 0) continue;
      const ended = await stepsNow(record, replaced, optimizer, clipping);
      return ended.map((elements) => resultOf(one, elements));
    }
    return [await trace(batches[0], (values) => stepNow(values, optimizer, clipping), calledByOperation)];
  };

  const each = async (batches: readonly Arguments[]): Promise<Result[]> => {
    requireBatches(batches);
    const inputs = new BorrowedInputs(sourcesGiven(batches), 'step.each');
    const operation = { name: 'step.each()', changes: true, memory: () => optimizer.memory() };
    const results = await enqueue(operation, async () => {
      const ended: Result[] = [];
      while (ended.length < batches.length)
        for (const one of await nextSteps(batches.slice(ended.length))) ended.push(one);
      return ended;
    });
    inputs.requireUnchanged();
    return results;
  };

  return Object.assign(single, { each });
}

/** What a graph depends on: the arguments, and whether the step is called inside `autocast`. */
function withMode(batch: readonly unknown[]): readonly unknown[] {
  return [...batch, isAutocastEnabled()];
}

/** For the first batches of a list, as many as one record fits. */
function leadingReplacements(known: RecordedStep, batches: readonly (readonly unknown[])[]): Replacements[] {
  const leading: Replacements[] = [];
  for (const batch of batches) {
    const replacements = known.replacements(withMode(batch));
    if (replacements === undefined) break;
    leading.push(replacements);
  }
  return leading;
}

/** The arguments that are tensors with elements. */
function sourcesGiven(batches: readonly (readonly unknown[])[]): Source[] {
  const tensors = batches.flat().filter((one) => one instanceof Tensor);
  return tensors.map(({ value }) => sourceOfLeaf(value)).filter((source) => source !== undefined);
}

function requireBatches(batches: unknown): void {
  const isList = Array.isArray(batches);
  if (isList && batches.every((batch) => Array.isArray(batch))) return;
  const wrong: unknown = isList ? batches.find((batch) => !Array.isArray(batch)) : batches;
  throw new ArgumentError(
    `step.each: expected a list of batches, each a list of the arguments of the loss, got ${describeValue(wrong)}. Write step.each([[images, labels], …]).`,
  );
}

/** A recorded graph, and how its values make a result. */
interface Recorded<Result extends StepResult> {
  readonly record: RecordedStep;
  readonly close: OpenedResult<Result>['close'];
}

function resultOf<Result extends StepResult>(
  { record, close }: Recorded<Result>,
  elements: readonly TensorData[],
): Result {
  return close(record.values.map((value, index) => known(elements[index], value)));
}

/** A tensor whose elements are known, and from which no gradient can be computed again. */
function known(data: TensorData, { dtype, shape }: ValueType): Tensor {
  return new Tensor(input(dtype, shape, { data }));
}
