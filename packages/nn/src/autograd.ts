import { BorrowedInputs } from './borrowed-inputs.ts';
import { CapturedInputs } from './captured-inputs.ts';
import { allFinite, explainAnomaly } from './compiler/anomaly.ts';
import { evaluate, type BufferOf, type RunOptions } from './compiler/compile.ts';
import { isScalar } from './compiler/differentiate.ts';
import { TrainingStep, type LaterRun } from './compiler/training-step.ts';
import { CollectiveLog } from './compiler/collective-log.ts';
import type { TensorData } from './dtype.ts';
import { NnError } from './errors.ts';
import { onnxruntimeExecutor } from './executor/onnxruntime.ts';
import type { ValueBuffer } from './executor/value-buffer.ts';
import { Gradients } from './gradients.ts';
import { findOutdated, outdatedError } from './graph/changes.ts';
import { describeType, isNode, type Node, type Value } from './graph/node.ts';
import { topologicalOrder } from './graph/topology.ts';
import {
  cacheElements,
  cachedElements,
  uncachedPartOf,
  withCachedLeaves,
  type UncachedPart,
} from './value-cache.ts';
import type { RecordedStep } from './recorded-step.ts';
import { sourcesOf, type RunInputs } from './run-inputs.ts';
import type { Source } from './graph/operators.ts';
import type { Clipping } from './optim/clipping.ts';
import type { Optimizer, PartOfStep, PreparedStep } from './optim/optimizer.ts';
import { recordReached } from './unlisted-parameters.ts';
import { beginAtOnce, enqueue, type Operation } from './operation-queue.ts';
import { requireOptions, type OptionNames } from './require-options.ts';

/** Options of {@link Tensor.backward}. */
export interface BackwardOptions {
  /**
   * If true, throws if the loss or a gradient is NaN or infinite, and names the operator that produced it
   * (torch.autograd.detect_anomaly) by running the graph once more with all intermediate values. Otherwise costs one scan
   * of all gradients. With DistributedDataParallel, only ranks whose own loss or gradient is affected throw.
   * Default: false.
   */
  detectAnomaly?: boolean;
}

const optionNames: OptionNames<BackwardOptions> = { detectAnomaly: true };

/**
 * Runs forward and backward for a loss, delivers the gradients, and keeps the value of the loss. Backward passes run one
 * after another, and not during optimizer steps, since they accumulate into the same gradients.
 */
export async function backward(loss: Value, options: BackwardOptions = {}): Promise<void> {
  requireOptions('backward', options, optionNames);
  const order = topologicalOrder([loss]);
  const inputs = new CapturedInputs(sourcesOf(uncachedPartOf(loss, order, 'differentiate').nodes));
  try {
    await enqueue(operationOn(order, 'loss.backward()', true), () =>
      backwardNow(loss, order, inputs, options),
    );
  } finally {
    inputs.release();
  }
}

/** How a compiled step runs. */
export interface SteppingOptions {
  readonly clipping: Clipping | undefined;
  /** Whether to copy the arrays of callers at the call, or to read them until the step has ended. */
  readonly copyInputs: boolean;
}

/**
 * Clears the gradients of an optimizer, runs forward, backward and the optimizer's step, and keeps the value of the loss:
 * in one run, if that computes the same as several.
 */
export async function step(
  loss: Value,
  optimizer: SteppedOptimizer,
  { clipping, copyInputs }: SteppingOptions,
): Promise<void> {
  const order = topologicalOrder([loss]);
  const sources = sourcesOf(uncachedPartOf(loss, order, 'differentiate').nodes);
  const inputs = copyInputs ? new CapturedInputs(sources) : new BorrowedInputs(sources);
  try {
    await stepOn(order, optimizer, clipping, (update) => backwardNow(loss, order, inputs, {}, () => update));
    inputs.requireUnchanged();
  } finally {
    inputs.release();
  }
}

/**
 * `step` for the graph of an earlier call.
 *
 * @param replaced what to read in place of the leaves of that call
 * @returns the elements of the loss
 */
export async function stepAgain(
  recorded: RecordedStep,
  replaced: Replacements,
  optimizer: SteppedOptimizer,
  options: SteppingOptions,
): Promise<TensorData> {
  const { order, part } = recorded;
  const atOnce = part && beginAtOnce(stepOperation(order, () => optimizer.memory()));
  if (!atOnce) return (await stepsAgain(recorded, [replaced], optimizer, options))[0];
  const { clipping, copyInputs } = options;
  const inputs = inputsOf([replaced], copyInputs);
  try {
    // Fewer promises than in `stepOn`, because each takes a turn of V8's queue.
    const again = part.prepareAgain!() ? part : undefined;
    const prepared = again ? undefined : optimizer.prepareStep(clipping);
    optimizer.zeroGradNow();
    const update = () => prepared ?? optimizer.prepareStep(clipping);
    const bufferOf = readerOf(inputs, replaced);
    const result = await runStep(recorded.training, { bufferOf, part: again }, update);
    if (result.updateAfterwards) await result.updateAfterwards();
    recorded.part = repeatable(result.part);
    inputs.requireUnchanged();
    return result.losses[0];
  } catch (error) {
    atOnce.fail(error);
    throw error;
  } finally {
    atOnce.end();
    inputs.release();
  }
}

/**
 * A step for each batch with the graph of an earlier call, with the optimizer's settings at the time of this call. As many as
 * possible follow one another without JavaScript.
 *
 * @param batches what to read in place of the leaves of that call
 * @returns the elements of the losses
 */
export async function stepsAgain(
  recorded: RecordedStep,
  batches: readonly Replacements[],
  optimizer: SteppedOptimizer,
  { clipping, copyInputs }: SteppingOptions,
): Promise<readonly TensorData[]> {
  const inputs = inputsOf(batches, copyInputs);
  const readers = batches.map((replaced) => readerOf(inputs, replaced));
  const losses: TensorData[] = [];
  const runNext = async (update: PreparedStep) => {
    const [bufferOf, ...later] = readers.slice(losses.length);
    const result = await runStep(recorded.training, { bufferOf, later }, () => update);
    await result.updateAfterwards?.();
    recorded.part = repeatable(result.part);
    losses.push(...result.losses);
  };
  try {
    await stepOn(recorded.order, optimizer, clipping, async (update) => {
      await runNext(update);
      while (losses.length < batches.length) {
        optimizer.zeroGradNow();
        await runNext(update);
      }
    });
    inputs.requireUnchanged();
    return losses;
  } finally {
    inputs.release();
  }
}

/** What a step reads in place of the leaves of an earlier one. */
export type Replacements = ReadonlyMap<Source, Source>;

function inputsOf(batches: readonly Replacements[], copyInputs: boolean): RunInputs {
  const sources = batches.length === 1 ? batches[0].values() : batches.flatMap((one) => [...one.values()]);
  return copyInputs ? new CapturedInputs(sources) : new BorrowedInputs(sources);
}

function readerOf(inputs: RunInputs, replaced: Replacements): BufferOf {
  return (leaf) => inputs.of(replaced.get(leaf) ?? leaf);
}

function repeatable(part: PartOfStep | undefined): PartOfStep | undefined {
  return part?.prepareAgain ? part : undefined;
}

type SteppedOptimizer = Pick<Optimizer, 'memory' | 'prepareStep' | 'zeroGradNow' | 'zeroSharedGradNow'>;

function stepOn<Result>(
  order: readonly Node[],
  optimizer: SteppedOptimizer,
  clipping: Clipping | undefined,
  run: (update: PreparedStep) => Promise<Result>,
): Promise<Result> {
  const update = optimizer.prepareStep(clipping);
  return enqueue(stepOperation(order, update.memory), async () => {
    optimizer.zeroGradNow();
    try {
      return await run(update);
    } finally {
      optimizer.zeroSharedGradNow();
    }
  });
}

/** @param updated returns the memory of the parameters that the optimizer changes */
function stepOperation(order: readonly Node[], updated: () => ReadonlySet<object>): Operation {
  const { name, memory } = operationOn(order, 'step()', true);
  return { name, changes: true, memory: () => new Set([...memory(), ...updated()]) };
}

/**
 * Computes the elements of a value into a new array. Computations, backward passes and optimizer steps run in the order
 * of the calls: so values use the parameters at the time of the call, and collectives have the same order on all ranks.
 *
 * @param name of the public method
 */
export async function read(value: Value, name: string): Promise<TensorData> {
  const order = topologicalOrder([value]);
  const inputs = new CapturedInputs(sourcesOf(uncachedPartOf(value, order, 'read').nodes));
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
  const number = cachedElements(value) ?? (await read(value, 'item'));
  cacheElements(value, number);
  return Number(number[0]);
}

async function readNow(
  value: Value,
  order: readonly Node[],
  name: string,
  { of: bufferOf }: CapturedInputs,
): Promise<TensorData> {
  // An earlier operation may have computed it since the call.
  const kept = cachedElements(value);
  if (kept !== undefined) return kept.slice();
  const remainder = uncachedPartOf(value, order, 'read');
  const outdated = findOutdated(computed(remainder));
  if (outdated) {
    throw outdatedError(
      `${name}: ${describeType(value)}`,
      outdated,
      'Read it before the change and continue with the numbers: tensor(await x.array(), x.shape).',
    );
  }
  const buffer = onnxruntimeExecutor.allocate(value);
  await evaluate([withCachedLeaves(value, remainder)], [buffer], { bufferOf });
  return await onnxruntimeExecutor.download(buffer);
}

function computed({ nodes, isCached }: UncachedPart): readonly Node[] {
  return nodes.filter((node) => !isCached(node));
}

function operationOn(order: readonly Node[], name: string, changes: boolean): Operation {
  const leaves = () => order.filter((node) => isNode(node, 'Input'));
  return {
    name,
    changes,
    memory: () =>
      new Set(leaves().map(({ attributes: { source } }) => source.memory?.identity ?? source.data)),
  };
}

async function backwardNow(
  written: Value,
  order: readonly Node[],
  { of: bufferOf }: RunInputs,
  { detectAnomaly = false }: BackwardOptions,
  optimizerStep?: () => PreparedStep,
): Promise<void> {
  if (!isScalar(written)) {
    throw new NnError(
      'ERR_BACKWARD',
      `backward: expected a loss of one float32 number, got ${describeType(written)}. Reduce it first with sum() or mean().`,
    );
  }
  const remainder = uncachedPartOf(written, order, 'differentiate');
  const outdated = findOutdated(computed(remainder));
  if (outdated) {
    throw outdatedError(
      'backward: the loss',
      outdated,
      'Call backward before the change, or recompute the loss. Write a constant part as tensor(await x.array(), x.shape).',
    );
  }
  const loss = withCachedLeaves(written, remainder);
  const step = new TrainingStep(loss, loss === written ? remainder.nodes : topologicalOrder([loss]));
  if (step.trainable.length === 0) throw new NnError('ERR_BACKWARD', noGradientReason(written));
  const anomalies = detectAnomaly ? loss : undefined;
  const result = await runStep(step, { bufferOf, anomalies }, optimizerStep);
  cacheElements(written, result.losses[0]);
  await result.updateAfterwards?.();
}

interface StepRunOptions extends RunOptions {
  /**
   * What further runs of the same step would read, if they can follow without JavaScript. Default: none.
   */
  readonly later?: readonly BufferOf[];
  /** The loss whose anomalies are detected. Default: none are. */
  readonly anomalies?: Value | undefined;
  /** The optimizer's step as a part of this one. Default: the optimizer is asked for it. */
  readonly part?: PartOfStep | undefined;
}

interface StepResult {
  /** Of the first run and of those that followed. */
  readonly losses: readonly TensorData[];
  /** The optimizer's step, if it was a part of the run. */
  readonly part: PartOfStep | undefined;
  /** The optimizer's step, if it was not. */
  readonly updateAfterwards: (() => Promise<void>) | undefined;
}

/** @param optimizerStep returns the optimizer's step. Default: there is none. */
async function runStep(
  step: TrainingStep,
  { bufferOf, later = [], anomalies, part: knownPart }: StepRunOptions,
  optimizerStep?: () => PreparedStep,
): Promise<StepResult> {
  const { parameters } = step;
  const updated = optimizerStep && (() => optimizerStep().parameters());
  const gradients = new Gradients(parameters, step.parts, updated);
  const startable = anomalies ? undefined : gradients.startable();
  const number = onnxruntimeExecutor.allocate(step.loss);
  let part: PartOfStep | undefined;
  let following: readonly LaterRun[] = [];
  let waitedMs = 0;
  let checked: TensorData | undefined;
  try {
    if (anomalies) checked = await runDetectingAnomalies(anomalies, step, number, gradients, { bufferOf });
    else {
      const starts = startable?.map((operations) => ({ operations })) ?? gradients.deliveries();
      part =
        startable && (knownPart ?? optimizerStep?.().asPartOf(parameters, gradients.areAveragedByUpdate));
      if (part && later.length > 0) {
        const most = gradients.mostPasses(1 + later.length) - 1;
        following = followingRuns(step, part, later.slice(0, most));
      }
      part?.begins();
      const calls = part && part.calls.length > 0 ? [...starts, ...part.calls] : starts;
      const options = { bufferOf, update: part?.update, later: following };
      ({ waitedMs } = await step.run(number, gradients.buffers, calls, options));
    }
  } catch (error) {
    const reported = gradients.abandon(error, 1 + following.length);
    // Otherwise no bucket has been awaited: it is an error of the forward or backward pass.
    throw part ? reported : error;
  }
  if (knownPart === undefined) recordReached(parameters);
  const passes = 1 + following.length;
  const processed = gradients.done({ isStarted: startable !== undefined, waitedMs, passes });
  if (processed) await processed;
  part?.ended(passes);
  const isAfterwards = part === undefined && optimizerStep !== undefined;
  const numbers = [number, ...following.map((run) => run.loss)].map(onnxruntimeExecutor.download);
  const isOnHost = numbers.every((one) => !(one instanceof Promise));
  return {
    losses: checked ? [checked] : isOnHost ? (numbers as TensorData[]) : await Promise.all(numbers),
    part,
    updateAfterwards: isAfterwards ? () => optimizerStep().run(gradients.areAveragedByUpdate) : undefined,
  };
}

/** The runs that can follow the first one of a step with its calls. */
function followingRuns(step: TrainingStep, part: PartOfStep, later: readonly BufferOf[]): LaterRun[] {
  const runs: LaterRun[] = [];
  for (const [index, bufferOf] of later.entries()) {
    const numbers = part.numbersOfLater?.(index + 1);
    if (numbers === undefined) break;
    const ownBufferOf: BufferOf = (source) => {
      const number = numbers.get(source);
      return number ? onnxruntimeExecutor.upload(number) : bufferOf(source);
    };
    runs.push({ loss: onnxruntimeExecutor.allocate(step.loss), bufferOf: ownBufferOf });
  }
  return runs;
}

/** Delivers no gradient, because all of them are checked first. Returns the loss. */
async function runDetectingAnomalies(
  loss: Value,
  step: TrainingStep,
  output: ValueBuffer,
  gradients: Gradients,
  options: RunOptions,
): Promise<TensorData> {
  const log = new CollectiveLog();
  await step.run(output, gradients.buffers, gradients.noCalls(), { ...options, replaceGroup: log.record });
  const number = await onnxruntimeExecutor.download(output);
  if ([number, ...gradients.arrays()].every((numbers) => allFinite(numbers as Float32Array))) return number;
  throw new NnError(
    'ERR_NONFINITE',
    `backward: ${await explainAnomaly(loss, { ...options, replaceGroup: log.replay })}`,
  );
}

function noGradientReason(loss: Value): string {
  const sources = topologicalOrder([loss]).flatMap((node) =>
    isNode(node, 'Input') ? [node.attributes.source] : [],
  );
  if (sources.some(({ parameter }) => parameter !== undefined)) {
    return 'backward: the loss depends on Parameters only through noGrad or detach(), which block gradients. Compute it outside of them.';
  }
  return sources.some(({ frozen }) => frozen !== undefined)
    ? 'backward: the loss depends on frozen Parameters only, which have no gradient. Set requiresGrad = true of those to train before forward.'
    : 'backward: the loss does not depend on any Parameter, so there is no gradient to compute.';
}
