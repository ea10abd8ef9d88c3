import { allFinite, explainAnomaly } from '../compiler/anomaly.ts';
import { CollectiveLog } from '../compiler/collective-log.ts';
import type { BufferOf, RunOptions } from '../compiler/compile.ts';
import type { SegmentedGraph } from '../compiler/segments/segmented-graph.ts';
import type { LaterRun, TrainingStep } from '../compiler/training-step.ts';
import { isFloat, newArray, type TensorData } from '../dtype.ts';
import { NnError } from '../errors/errors.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import { together, type MaybePromise } from '../executor/maybe-promise.ts';
import { Gradients } from './gradients.ts';
import type { Value } from '../graph/node.ts';
import type { PartOfStep, PreparedStep } from './prepared-step.ts';
import { inFloat32, sizeOf } from '../value-type.ts';
import { recordReached } from './unlisted-parameters.ts';

interface StepRunOptions extends RunOptions {
  /** Inputs of subsequent runs of the same step that need no JavaScript in between. Default: none. */
  readonly later?: readonly BufferOf[];
  /** The loss whose anomalies are detected. Default: none. */
  readonly anomalies?: Value | undefined;
  /** The step as a chain of segments. Default: one program. */
  readonly segments?: SegmentedGraph | undefined;
  /** The optimizer's step as part of this one. Default: requested from the optimizer. */
  readonly part?: PartOfStep | undefined;
}

/** The results of a step, and the work that remains. */
export interface RunResult {
  /** The elements of the loss and the auxiliary values, of the first run and of those that followed. */
  readonly values: readonly (readonly TensorData[])[];
  /** Return the elements of `TrainingStep.kept`, of the first run. */
  readonly kept: readonly (() => TensorData)[];
  /** The optimizer's step, if it was part of the run. */
  readonly part: PartOfStep | undefined;
  /** The optimizer's step, if it was not part of the run. */
  readonly updateAfterwards: (() => Promise<void>) | undefined;
}

/**
 * Runs a training step, and delivers its gradients.
 *
 * @param optimizerStep returns the optimizer's step. Default: no step.
 */
export async function runStep(
  step: TrainingStep,
  { bufferOf, later = [], anomalies, segments, part: knownPart }: StepRunOptions,
  optimizerStep?: () => PreparedStep,
): Promise<RunResult> {
  const { executor, parameters } = step;
  const updated = optimizerStep && (() => optimizerStep().parameters());
  const gradients = new Gradients(executor, step, updated);
  const inProgram = anomalies || segments ? undefined : gradients.inProgram();
  const values = allocated(step);
  let part: PartOfStep | undefined;
  let following: readonly LaterRun[] = [];
  let waitedMs = 0;
  let checked: readonly TensorData[] | undefined;
  try {
    if (anomalies) checked = await runDetectingAnomalies(anomalies, step, values, gradients, { bufferOf });
    else if (segments) await step.runSegments(segments, values, gradients.buffers, { bufferOf });
    else {
      const starts = inProgram?.calls ?? gradients.deliveries();
      part = inProgram?.mayUpdate
        ? (knownPart ?? optimizerStep?.().asPartOf(parameters, gradients.areAveragedByUpdate))
        : undefined;
      if (part && later.length > 0) {
        const maxLater = gradients.maxPasses(1 + later.length) - 1;
        following = followingRuns(step, part, later.slice(0, maxLater));
      }
      part?.begins();
      const calls = part && part.calls.length > 0 ? [...starts, ...part.calls] : starts;
      const options = { bufferOf, update: part?.update, later: following };
      ({ waitedMs } = await step.run(values, gradients.buffers, calls, options));
    }
  } catch (error) {
    const reported = gradients.abandon(error, 1 + following.length);
    // Otherwise no bucket has been awaited, so the forward or backward pass failed.
    throw part || inProgram?.isAwaited ? reported : error;
  }
  if (knownPart === undefined) recordReached(parameters);
  const passes = 1 + following.length;
  const processed = gradients.done({ isStarted: inProgram !== undefined, waitedMs, passes });
  if (processed) await processed;
  part?.ended(passes);
  const isAfterwards = part === undefined && optimizerStep !== undefined;
  const wanted = step.values.length - step.kept.length;
  const runs = [values, ...following.map((run) => run.values)];
  const written = checked
    ? [checked]
    : downloadedRuns(
        executor,
        runs.map((buffers) => buffers.slice(0, wanted)),
      );
  return {
    values: written instanceof Promise ? await written : written,
    kept: values.slice(wanted).map((buffer, index) => () => {
      const { dtype, shape } = inFloat32(step.values[wanted + index]);
      const elements = newArray(dtype, sizeOf(shape));
      executor.read(buffer, elements);
      return elements;
    }),
    part,
    updateAfterwards: isAfterwards ? () => optimizerStep().run(gradients.areAveragedByUpdate) : undefined,
  };
}

/** Not a promise if the executor's values lie on the host, to keep the number of microtask turns per step low. */
function downloadedRuns(
  memory: ValueMemory,
  runs: readonly (readonly ValueBuffer[])[],
): MaybePromise<TensorData[][]> {
  return together(runs.map((buffers) => downloaded(memory, buffers)));
}

function downloaded(memory: ValueMemory, buffers: readonly ValueBuffer[]): MaybePromise<TensorData[]> {
  return together(buffers.map((buffer) => memory.download(buffer)));
}

/** Buffers for `TrainingStep.values`. */
function allocated({ values, kept, executor }: TrainingStep): readonly ValueBuffer[] {
  const wanted = values.length - kept.length;
  return values.map((value, index) => (index < wanted ? executor.allocate(value) : executor.reserve(value)));
}

/** The runs that can follow the first one of a step with its calls. */
function followingRuns(step: TrainingStep, part: PartOfStep, later: readonly BufferOf[]): LaterRun[] {
  const runs: LaterRun[] = [];
  for (const [index, bufferOf] of later.entries()) {
    const numbers = part.numbersOfLater?.(index + 1);
    if (numbers === undefined) break;
    const ownBufferOf: BufferOf = (source, memory) => {
      const number = numbers.get(source);
      return number ? memory.upload(number) : bufferOf(source, memory);
    };
    runs.push({ values: allocated(step), bufferOf: ownBufferOf });
  }
  return runs;
}

/** Delivers no gradients: all of them are checked first. Returns the loss and the auxiliary values. */
async function runDetectingAnomalies(
  loss: Value,
  step: TrainingStep,
  outputs: readonly ValueBuffer[],
  gradients: Gradients,
  options: RunOptions,
): Promise<readonly TensorData[]> {
  const log = new CollectiveLog();
  await step.run(outputs, gradients.buffers, gradients.noCalls(), { ...options, replaceGroup: log.record });
  const wanted = outputs.slice(0, step.values.length - step.kept.length);
  const numbers = await Promise.all(wanted.map(async (buffer) => await step.executor.download(buffer)));
  const floats = numbers.filter((_, index) => isFloat(step.values[index]));
  if ([...floats, ...gradients.arrays()].every((one) => allFinite(one as Float32Array))) return numbers;
  throw new NnError(
    'ERR_NONFINITE',
    `backward: ${await explainAnomaly(loss, { ...options, replaceGroup: log.replay })}`,
  );
}
