import type { GradientPass, GradientSink, PassEnd, StartableOperation } from '@ringrun/core';
import type { GradientPart, TrainingStep } from '../compiler/training-step.ts';
import type { GraphCall } from '../executor/executor.ts';
import type { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import type { GradientReceiver } from '../graph/source.ts';
import { DeviceGradients } from './device-gradients.ts';
import {
  addEarlier,
  beginGradient,
  requireExpectedKind,
  restoreEarlier,
  type EarlierGradient,
} from './earlier-gradient.ts';
import { insideOperation } from '../executor/operation-queue.ts';
import { usesOwnOperators } from '../ops/own/enabled.ts';

/** The gradients of one backward pass, accumulated in place onto those of earlier passes. */
export class Gradients {
  /** The buffers that a run writes. */
  readonly buffers: readonly ValueBuffer[];
  readonly #usesHostMemory: boolean;
  /** The passes whose gradients are averaged on a device. */
  readonly #onDevice = new Map<GradientSink, DeviceGradients>();
  readonly #memory: readonly ManagedBuffer[];
  /** True if ranks exchange rows of a gradient, which needs JavaScript. */
  readonly #exchangesRows: boolean;
  readonly #parameters: readonly GradientReceiver[];
  readonly #earlier: readonly (EarlierGradient | undefined)[];
  readonly #parts: readonly GradientPart[];
  readonly #passes: ReadonlyMap<GradientSink, GradientPass>;
  /** For each gradient, whether it is complete. */
  readonly #isDelivered: boolean[];

  /**
   * Begins a pass of each sink. `done` or `abandon` ends it.
   *
   * @param executor that runs the pass
   * @param step the parameters of the pass, and how their gradients are received
   * @param updated returns all parameters of the optimizer whose step is the only reader of the gradients. Default: unknown.
   */
  constructor(
    executor: ValueMemory,
    { parameters, parts, plan: { sparseReads } }: Pick<TrainingStep, 'parameters' | 'parts' | 'plan'>,
    updated?: () => ReadonlySet<GradientReceiver>,
  ) {
    this.#usesHostMemory = executor.usesHostMemory;
    this.#parameters = parameters;
    this.#parts = parts;
    for (const [position, parameter] of parameters.entries())
      requireExpectedKind(parameter, sparseReads[position]);
    this.#exchangesRows = parameters.some(
      ({ gradientSink }, position) => gradientSink !== undefined && sparseReads[position] !== undefined,
    );
    const isLocal = parts.length === 0 && !this.#exchangesRows;
    this.#passes = isLocal ? noPasses : beginPasses(executor, parameters, updated);
    this.#earlier = parameters.map((parameter, position) => beginGradient(parameter, sparseReads[position]));
    for (const [sink, pass] of this.#passes) {
      const own = parameters.filter(({ gradientSink }) => gradientSink === sink);
      const onDevice = DeviceGradients.of(executor, pass, own);
      if (onDevice) this.#onDevice.set(sink, onDevice);
    }
    this.#memory = parameters.map(({ gradientMemory }) => gradientMemory);
    this.buffers = this.#memory.map((memory) => memory.forWriting(executor));
    this.#isDelivered = parameters.map(() => false);
  }

  /** See `GradientPass.updateAverages`. */
  get areAveragedByUpdate(): boolean {
    for (const { updateAverages } of this.#passes.values()) if (updateAverages) return true;
    return false;
  }

  /** The gradients on the host. */
  arrays(): readonly Float32Array[] {
    return this.#memory.map(({ array }) => array);
  }

  /** The calls that average each part where the run writes it; undefined if a part needs JavaScript. */
  inProgram(): AveragesInProgram | undefined {
    if (this.#exchangesRows || this.#earlier.some((gradient) => gradient !== undefined)) return undefined;
    if (!this.#usesHostMemory && this.#parts.length > 0) return this.#inProgramOfDevice();
    const startable = this.#startable();
    return (
      startable && {
        calls: startable.map((operations) => ({ operations })),
        mayUpdate: true,
        isAwaited: false,
      }
    );
  }

  #inProgramOfDevice(): AveragesInProgram | undefined {
    if (this.#passes.size !== 1 || this.#onDevice.size !== 1) return undefined;
    const [onDevice] = this.#onDevice.values();
    const calls = this.#parts.map(({ bucketIndex }) => onDevice.callAt(bucketIndex));
    return { calls, mayUpdate: onDevice.mayUpdate, isAwaited: true };
  }

  #startable(): (readonly StartableOperation[])[] | undefined {
    const operations = this.#parts.map(({ sink, bucketIndex }) =>
      this.#passes.get(sink)!.startableAt(bucketIndex),
    );
    return operations.every((one) => one !== undefined) ? operations : undefined;
  }

  /** How many passes may run without JavaScript in between if `inProgram`: from 1 to `limit`. */
  maxPasses(limit: number): number {
    let most = limit;
    for (const pass of this.#passes.values()) most = Math.min(most, pass.maxPasses?.(limit) ?? 1);
    return most;
  }

  /** Calls that deliver each part. */
  deliveries(): GraphCall[] {
    return this.#parts.map((part) => ({
      notify: () => {
        insideOperation(() => {
          this.#deliver(part);
        });
      },
    }));
  }

  /** Calls that do nothing: `done` delivers. */
  noCalls(): GraphCall[] {
    return this.#parts.map(() => ({ operations: [] }));
  }

  /**
   * Completes the gradients. Resolves when they have been processed, such as averaged over ranks; undefined if they already
   * are. `isStarted` of the settings: whether the calls of `inProgram` were made.
   */
  done(settings: PassEnd = {}): Promise<void> | undefined {
    if (!settings.isStarted) for (const part of this.#parts) this.#deliver(part);
    for (let position = 0; position < this.#parameters.length; position += 1) this.#complete(position);
    if (this.#passes.size === 0) return undefined;
    const ends = Array.from(
      this.#passes,
      ([sink, pass]) =>
        () =>
          this.#end(sink, pass, settings),
    );
    return inOrder(ends);
  }

  #end(sink: GradientSink, pass: GradientPass, settings: PassEnd): Promise<void> | undefined {
    const onDevice = this.#onDevice.get(sink);
    if (onDevice === undefined) return endPass(sink, pass, settings);
    const end = () => pass.done({ ...settings, isAveraged: true });
    const averaged = settings.isStarted ? onDevice.end() : onDevice.average().then(() => onDevice.end());
    return averaged ? averaged.then(end) : end();
  }

  /**
   * Ends the passes after a failure. Gradients that are being averaged already are not restored.
   *
   * @param count number of consecutive passes. Default: 1.
   * @returns the error to throw
   */
  abandon(error: unknown, count?: number): unknown {
    let reported = error;
    for (const pass of this.#passes.values()) reported = pass.abandon(reported, count);
    for (const [position, gradient] of this.#earlier.entries()) {
      if (gradient && !this.#isDelivered[position]) restoreEarlier(this.#parameters[position], gradient);
    }
    return reported;
  }

  #deliver({ sink, bucketIndex, positions }: GradientPart): void {
    if (this.#isDelivered[positions[0]]) return;
    for (const position of positions) this.#complete(position);
    if (this.#onDevice.has(sink)) return;
    this.#passes.get(sink)!.bucketReady(bucketIndex);
  }

  #complete(position: number): void {
    if (this.#isDelivered[position]) return;
    this.#isDelivered[position] = true;
    const earlier = this.#earlier[position];
    const parameter = this.#parameters[position];
    if (earlier) addEarlier(parameter, earlier);
    if (parameter.gradientSink && this.#onDevice.has(parameter.gradientSink)) parameter.gradientAveraged();
    else parameter.gradientWritten();
  }
}

const noPasses: ReadonlyMap<GradientSink, GradientPass> = new Map();

/** Calls functions one after another. Returns undefined if nothing is left to wait for. */
function inOrder(ends: readonly (() => Promise<void> | undefined)[]): Promise<void> | undefined {
  if (ends.length === 0) return undefined;
  const [first, ...others] = ends;
  const end = first();
  return end ? end.then(() => inOrder(others)) : inOrder(others);
}

function endPass(sink: GradientSink, pass: GradientPass, settings: PassEnd): Promise<void> | undefined {
  // Otherwise it may call user code: a communication hook or a listener for group changes.
  const needsNoProgram = settings.isStarted === true && sink.mayRepeat !== true;
  return needsNoProgram ? pass.done(settings) : insideOperation(() => pass.done(settings));
}

/** The averages that a program makes by itself. */
export interface AveragesInProgram {
  /** One for each part. */
  readonly calls: readonly GraphCall[];
  /** Whether the same program may update the parameters. */
  readonly mayUpdate: boolean;
  /** Whether a run ends only when the averages have, also without an update. */
  readonly isAwaited: boolean;
}

function beginPasses(
  { usesHostMemory }: ValueMemory,
  parameters: readonly GradientReceiver[],
  updated: (() => ReadonlySet<GradientReceiver>) | undefined,
): Map<GradientSink, GradientPass> {
  const passes = new Map<GradientSink, GradientPass>();
  const sinks = new Set<GradientSink>();
  for (const { gradientSink } of parameters) if (gradientSink) sinks.add(gradientSink);
  // An update averages the gradients of one sink, in host memory.
  const mayAverage = sinks.size === 1 && usesHostMemory && usesOwnOperators();
  try {
    for (const sink of sinks) {
      const ofSink = (parameter: GradientReceiver) => parameter.gradientSink === sink;
      const all = mayAverage && sink.sharing !== undefined ? updated?.() : undefined;
      const isOnly = all !== undefined && [...all].every(ofSink);
      passes.set(sink, sink.beginPass(parameters.filter(ofSink), isOnly ? all : undefined));
    }
  } catch (error) {
    for (const pass of passes.values()) pass.abandon(error);
    throw error;
  }
  return passes;
}
