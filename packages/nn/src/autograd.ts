import { CapturedInputs } from './captured-inputs.ts';
import { allFinite, explainAnomaly } from './compiler/anomaly.ts';
import { evaluate, type RunOptions } from './compiler/compile.ts';
import { isScalar } from './compiler/differentiate.ts';
import { TrainingStep } from './compiler/training-step.ts';
import { CollectiveLog } from './compiler/collective-log.ts';
import type { TensorData } from './dtype.ts';
import { NnError } from './errors.ts';
import { onnxruntimeExecutor } from './executor/onnxruntime.ts';
import type { ValueBuffer } from './executor/value-buffer.ts';
import { Gradients } from './gradients.ts';
import { findOutdated, outdatedError } from './graph/changes.ts';
import { describeType, isNode, type Node, type Value } from './graph/node.ts';
import { sourceOfLeaf } from './graph/source-of-leaf.ts';
import { topologicalOrder } from './graph/topology.ts';
import {
  cacheElements,
  cachedElements,
  uncachedPartOf,
  withCachedLeaves,
  type UncachedPart,
} from './value-cache.ts';
import type { RecordedStep } from './recorded-step.ts';
import type { Source } from './graph/operators.ts';
import type { Clipping } from './optim/clipping.ts';
import type { Optimizer, PartOfStep, PreparedStep } from './optim/optimizer.ts';
import { recordReached } from './unlisted-parameters.ts';
import { enqueue, type Operation } from './operation-queue.ts';
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
  const inputs = new CapturedInputs(uncachedPartOf(loss, order, 'differentiate').nodes);
  try {
    await enqueue(operationOn(order, 'loss.backward()', true), () =>
      backwardNow(loss, order, inputs, options),
    );
  } finally {
    inputs.release();
  }
}

/**
 * Clears the gradients of an optimizer, runs forward, backward and the optimizer's step, and keeps the value of the loss:
 * in one run, if that computes the same as several.
 */
export async function step(loss: Value, optimizer: SteppedOptimizer, clipping?: Clipping): Promise<void> {
  const order = topologicalOrder([loss]);
  const inputs = new CapturedInputs(uncachedPartOf(loss, order, 'differentiate').nodes);
  await stepOn(order, inputs, optimizer, clipping, (update) => backwardNow(loss, order, inputs, {}, update));
}

/**
 * `step` for the graph of an earlier call.
 *
 * @param replaced the leaves to read in place of those of that call
 * @returns the elements and the shape of the loss
 */
export async function stepAgain(
  recorded: RecordedStep,
  replaced: ReadonlyMap<Source, Value>,
  optimizer: SteppedOptimizer,
  clipping?: Clipping,
): Promise<{ data: TensorData; shape: readonly number[] }> {
  const inputs = new CapturedInputs([...replaced.values()].map(({ node }) => node));
  const bufferOf = (source: Source) => inputs.of(sourceOfLeaf(replaced.get(source)) ?? source);
  const training = recorded.training();
  const { shape } = training.loss;
  let data: TensorData = new Float32Array();
  await stepOn(recorded.order, inputs, optimizer, clipping, async (update) => {
    const { loss, updateAfterwards } = await runStep(training, { bufferOf }, update);
    data = loss;
    await updateAfterwards?.();
  });
  return { data, shape };
}

type SteppedOptimizer = Pick<Optimizer, 'prepareStep' | 'zeroGradNow' | 'zeroSharedGradNow'>;

async function stepOn(
  order: readonly Node[],
  inputs: CapturedInputs,
  optimizer: SteppedOptimizer,
  clipping: Clipping | undefined,
  run: (update: PreparedStep) => Promise<void>,
): Promise<void> {
  try {
    const update = optimizer.prepareStep(clipping);
    const { name, memory } = operationOn(order, 'step()', true);
    const all = () => new Set([...memory(), ...update.memory()]);
    await enqueue({ name, changes: true, memory: all }, async () => {
      optimizer.zeroGradNow();
      try {
        await run(update);
      } finally {
        optimizer.zeroSharedGradNow();
      }
    });
  } finally {
    inputs.release();
  }
}

/**
 * Computes the elements of a value into a new array. Computations, backward passes and optimizer steps run in the order
 * of the calls: so values use the parameters at the time of the call, and collectives have the same order on all ranks.
 *
 * @param name of the public method
 */
export async function read(value: Value, name: string): Promise<TensorData> {
  const order = topologicalOrder([value]);
  const inputs = new CapturedInputs(uncachedPartOf(value, order, 'read').nodes);
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
  { of: bufferOf }: CapturedInputs,
  { detectAnomaly = false }: BackwardOptions,
  optimizerStep?: PreparedStep,
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
  cacheElements(written, result.loss);
  await result.updateAfterwards?.();
}

interface StepRunOptions extends RunOptions {
  /** The loss whose anomalies are detected. Default: none are. */
  readonly anomalies?: Value | undefined;
}

interface StepResult {
  readonly loss: TensorData;
  /** The optimizer's step, if it is not part of the run. */
  readonly updateAfterwards: (() => Promise<void>) | undefined;
}

async function runStep(
  step: TrainingStep,
  { bufferOf, anomalies }: StepRunOptions,
  optimizerStep?: PreparedStep,
): Promise<StepResult> {
  const parameters = step.trainable.map(({ source }) => source.parameter!);
  const gradients = new Gradients(parameters, step.parts, optimizerStep?.parameters());
  const startable = anomalies ? undefined : gradients.startable();
  const number = onnxruntimeExecutor.allocate(step.loss);
  let part: PartOfStep | undefined;
  let waitedMs = 0;
  let checked: TensorData | undefined;
  try {
    if (anomalies) checked = await runDetectingAnomalies(anomalies, step, number, gradients, { bufferOf });
    else {
      const starts = startable?.map((operations) => ({ operations })) ?? gradients.deliveries();
      part = startable && optimizerStep?.asPartOf(parameters, gradients.areAveragedByUpdate);
      part?.begins();
      const calls = part && part.calls.length > 0 ? [...starts, ...part.calls] : starts;
      waitedMs = await step.run(number, gradients.buffers, calls, { bufferOf, update: part?.update });
    }
  } catch (error) {
    const reported = gradients.abandon(error);
    // Otherwise no bucket has been awaited: it is an error of the forward or backward pass.
    throw part ? reported : error;
  }
  recordReached(parameters);
  const processed = gradients.done({ isStarted: startable !== undefined, waitedMs });
  if (processed) await processed;
  part?.ended();
  const isAfterwards = part === undefined && optimizerStep !== undefined;
  return {
    loss: checked ?? (await onnxruntimeExecutor.download(number)),
    updateAfterwards: isAfterwards ? () => optimizerStep.run(gradients.areAveragedByUpdate) : undefined,
  };
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
