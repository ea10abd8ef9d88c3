import { backwardNow, operationOn } from '../engine/autograd.ts';
import { BorrowedInputs } from '../engine/borrowed-inputs.ts';
import { CapturedInputs } from '../engine/captured-inputs.ts';
import { bufferOf, type BufferOf } from '../compiler/compile.ts';
import type { TensorData } from '../dtype.ts';
import type { Node, Value } from '../graph/node.ts';
import type { Source } from '../graph/source.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { beginAtOnce, enqueue, type Operation } from '../executor/operation-queue.ts';
import type { Clipping } from '../optim/clipping.ts';
import type { Optimizer } from '../optim/optimizer.ts';
import type { PreparedStep } from '../engine/prepared-step.ts';
import type { RecordedStep, Replacements } from './recorded-step.ts';
import { sourcesOf, type RunInputs } from '../engine/run-inputs.ts';
import { runStep, type RunResult } from '../engine/run-step.ts';
import { uncachedPartOf } from '../engine/value-cache.ts';

/** Settings of a compiled step. */
export interface SteppingOptions {
  readonly clipping: Clipping | undefined;
  /** If true, copies the callers' arrays at the call; if false, reads them until the step has ended. */
  readonly copyInputs: boolean;
}

type SteppedOptimizer = Pick<Optimizer, 'memory' | 'prepareStep' | 'zeroGradNow' | 'zeroSharedGradNow'>;

/**
 * Clears the gradients of an optimizer, runs forward, backward and the optimizer's step, and keeps the value of the loss:
 * in one run if the result is the same as with several.
 *
 * @param values the loss, then values that the same run computes
 * @returns the elements of the values after the loss
 */
export async function step(
  values: readonly Value[],
  optimizer: SteppedOptimizer,
  { clipping, copyInputs }: SteppingOptions,
): Promise<readonly TensorData[]> {
  const order = topologicalOrder(values);
  const inputs = inputsOf(sourcesRead(values, order), copyInputs);
  try {
    const others = await stepOn(order, optimizer, clipping, (update) =>
      backwardNow(values, order, inputs, {}, () => update),
    );
    inputs.requireUnchanged();
    return others;
  } finally {
    inputs.release();
  }
}

/** `step` inside a running operation. Reads the arrays of callers until it has ended. */
export async function stepNow(
  values: readonly Value[],
  optimizer: SteppedOptimizer,
  clipping: Clipping | undefined,
): Promise<readonly TensorData[]> {
  const order = topologicalOrder(values);
  const inputs = new BorrowedInputs(sourcesRead(values, order));
  const update = optimizer.prepareStep(clipping);
  const others = await withoutGradients(optimizer, () =>
    backwardNow(values, order, inputs, {}, () => update),
  );
  inputs.requireUnchanged();
  return others;
}

/**
 * `step` for the graph of an earlier call.
 *
 * @param replaced replacements for the leaves of that call
 * @returns the elements of the record's values
 */
export async function stepAgain(
  recorded: RecordedStep,
  replaced: Replacements,
  optimizer: SteppedOptimizer,
  { clipping, copyInputs }: SteppingOptions,
): Promise<readonly TensorData[]> {
  const inputs = inputsOf(replaced.values(), copyInputs);
  const ownBufferOf = readerOf(inputs.of, replaced);
  const { order, part } = recorded;
  const atOnce = part && beginAtOnce(stepOperation(order, () => optimizer.memory()));
  try {
    if (!atOnce) {
      const [values] = await stepOn(order, optimizer, clipping, (update) =>
        runAgain(recorded, [ownBufferOf], update),
      );
      inputs.requireUnchanged();
      return values;
    }
    // Fewer promises than in `stepOn`, because each takes a turn of V8's queue.
    const again = part.prepareAgain!() ? part : undefined;
    const prepared = again ? undefined : optimizer.prepareStep(clipping);
    optimizer.zeroGradNow();
    const update = () => prepared ?? optimizer.prepareStep(clipping);
    const result = await runStep(recorded.training, { bufferOf: ownBufferOf, part: again }, update);
    if (result.updateAfterwards) await result.updateAfterwards();
    keepPart(recorded, result);
    inputs.requireUnchanged();
    return result.values[0];
  } catch (error) {
    atOnce?.fail(error);
    throw error;
  } finally {
    atOnce?.end();
    inputs.release();
  }
}

/**
 * A step for each batch with the graph of an earlier call, inside a running operation. As many steps as possible run
 * without JavaScript in between. Reads the arrays of callers until it has ended.
 *
 * @param batches replacements for the leaves of that call
 * @returns for each step, the elements of the record's values
 */
export async function stepsNow(
  recorded: RecordedStep,
  batches: readonly Replacements[],
  optimizer: SteppedOptimizer,
  clipping: Clipping | undefined,
): Promise<readonly (readonly TensorData[])[]> {
  const update = optimizer.prepareStep(clipping);
  const readers = batches.map((replaced) => readerOf(bufferOf, replaced));
  const ended: (readonly TensorData[])[] = [];
  while (ended.length < batches.length) {
    const next = readers.slice(ended.length);
    for (const values of await withoutGradients(optimizer, () => runAgain(recorded, next, update)))
      ended.push(values);
  }
  return ended;
}

/** Runs at least the first step. Returns the values of the steps that ran. */
async function runAgain(
  recorded: RecordedStep,
  [first, ...later]: readonly BufferOf[],
  update: PreparedStep,
): Promise<readonly (readonly TensorData[])[]> {
  const result = await runStep(recorded.training, { bufferOf: first, later }, () => update);
  await result.updateAfterwards?.();
  keepPart(recorded, result);
  return result.values;
}

function keepPart(recorded: RecordedStep, { part }: RunResult): void {
  recorded.part = part?.prepareAgain ? part : undefined;
}

function inputsOf(sources: Iterable<Source>, copyInputs: boolean): RunInputs {
  return copyInputs ? new CapturedInputs(sources) : new BorrowedInputs(sources);
}

/** The leaves that a run for a loss, and values after it, reads. */
function sourcesRead(values: readonly Value[], order: readonly Node[]): Source[] {
  return sourcesOf(uncachedPartOf(values, order, 'differentiate').nodes);
}

function readerOf(of: BufferOf, replaced: Replacements): BufferOf {
  return (leaf, memory) => of(replaced.get(leaf) ?? leaf, memory);
}

function stepOn<Result>(
  order: readonly Node[],
  optimizer: SteppedOptimizer,
  clipping: Clipping | undefined,
  run: (update: PreparedStep) => Promise<Result>,
): Promise<Result> {
  const update = optimizer.prepareStep(clipping);
  return enqueue(stepOperation(order, update.memory), () => withoutGradients(optimizer, () => run(update)));
}

/** Gradients do not accumulate over steps. */
async function withoutGradients<Result>(
  optimizer: SteppedOptimizer,
  run: () => Promise<Result>,
): Promise<Result> {
  optimizer.zeroGradNow();
  try {
    return await run();
  } finally {
    optimizer.zeroSharedGradNow();
  }
}

/** @param updated returns the memory of the parameters that the optimizer changes */
function stepOperation(order: readonly Node[], updated: () => ReadonlySet<object>): Operation {
  const { name, memory } = operationOn(order, 'step()', true);
  return { name, changes: true, memory: () => new Set([...memory(), ...updated()]) };
}
