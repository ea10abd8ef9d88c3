import { AsyncResource } from 'node:async_hooks';
import { recordActivity, threadCount } from '@ringrun/core';
import {
  findOnnxruntime,
  loadNative,
  type NativeOnnxOptions,
  type NativeOnnxSession,
  type NativeOnnxSlot,
} from '@ringrun/native';
import { bytesPerElement, newArray, type TensorData } from '../../dtype.ts';
import { ArgumentError, NnError } from '../../errors/errors.ts';
import { sizeOf, type ValueType } from '../../value-type.ts';
import { dataTypeCode } from '../../onnx-format/type-codes.ts';
import { requireLength } from '../../checks/require-length.ts';
import { onnxModelOf, prepareForward } from './lower.ts';
import { inputName, outputName, type OnnxModel } from './onnx-model.ts';
import type {
  Chain,
  Executor,
  GraphCall,
  Program,
  ProgramDefinition,
  RunBuffers,
  Waits,
} from '../executor.ts';
import { ProgramBinding } from './program-binding.ts';
import { reportMissingInstructions } from './report-missing-instructions.ts';
import { eventLoopTurned, turnOfEventLoopIfDue } from './event-loop-turns.ts';
import { hostArrays, onHost, type ValueBuffer } from '../value-buffer.ts';

function allocated({ dtype, shape }: ValueType): ValueBuffer {
  return onHost(newArray(dtype, sizeOf(shape)));
}

function modelOf(definition: ProgramDefinition): OnnxModel {
  reportMissingInstructions(definition.outputs);
  return onnxModelOf(definition);
}

/** Runs graphs on onnxruntime's CPU provider, with values on the host and OMP_NUM_THREADS threads (default: one per core). */
export const onnxruntimeExecutor: Executor = {
  device: 'cpu',
  prepareForward,
  compile: (definition) => compileModel(modelOf(definition)),
  compileSync(definition) {
    const model = modelOf(definition);
    const { session, fix } = newSession(model);
    try {
      session.compileSync(model.model);
    } catch (cause) {
      throw notCompiled(cause, fix);
    }
    return new OnnxruntimeProgram(model, session);
  },
  allocate: allocated,
  reserve: allocated,
  upload: onHost,
  download: (output) => hostArrays([output])[0],
  move: (outputs) => {
    for (const [output, to] of outputs) copyElements(hostArrays([output])[0], hostArrays([to])[0]);
  },
  keep: onHost,
  write: (buffer, array) => {
    copyElements(array, hostArrays([buffer])[0]);
  },
  read: (buffer, array) => {
    copyElements(hostArrays([buffer])[0], array);
  },
  usesHostMemory: true,
  async runChain(chain) {
    const { sessions, places, arrays, memory, startedAt } = chainArguments(chain);
    try {
      await loadNative().runOnnxChain(sessions, places, arrays, memory);
    } catch (cause) {
      throw notRun(cause);
    }
    endChain(memory, startedAt);
  },
  runChainSync(chain) {
    const { sessions, places, arrays, memory, startedAt } = chainArguments(chain);
    try {
      loadNative().runOnnxChainSync(sessions, places, arrays, memory);
    } catch (cause) {
      throw notRun(cause);
    }
    endChain(memory, startedAt);
  },
};

/** Memory between the programs of chains, while none runs. */
let spareMemory: Uint8Array | undefined;

function chainArguments({ programs, places, buffers, bytesBetween }: Chain) {
  const spare = spareMemory !== undefined && spareMemory.length >= bytesBetween ? spareMemory : undefined;
  const memory = spare ?? new Uint8Array(2 * bytesBetween);
  spareMemory = undefined;
  const sessions = programs.map(sessionOf);
  return { sessions, places, arrays: hostArrays(buffers), memory, startedAt: performance.now() };
}

function sessionOf(program: Program): NativeOnnxSession {
  if (program instanceof OnnxruntimeProgram) return program.session;
  throw new Error('A chain has only programs that this executor compiled.');
}

function endChain(memory: Uint8Array, startedAt: number): void {
  spareMemory = memory;
  recordActivity('compute', 'segments', startedAt, performance.now());
}

/** Creates a program from an ONNX model. */
export async function compileModel(model: OnnxModel): Promise<Program> {
  const { session, fix } = newSession(model);
  try {
    await session.compile(model.model);
  } catch (cause) {
    throw notCompiled(cause, fix);
  }
  return new OnnxruntimeProgram(model, session);
}

function copyElements(from: TensorData, to: TensorData): void {
  // Both have one dtype.
  if (from !== to) (to as Float32Array).set(from as Float32Array);
}

/** Creates a session without a model. Throws an error with the remedy if the library cannot be used. */
function newSession(model: OnnxModel): { session: NativeOnnxSession; fix: string } {
  const { OnnxSession } = loadNative();
  const library = findOnnxruntime();
  if ('problem' in library) throw unusable(library.problem, library.fix);
  const session = new OnnxSession(
    library.path,
    model.inputs.map((type, position) => slot(inputName(position), type)),
    model.outputs.map((type, position) => slot(outputName(position), type)),
    options(model),
  );
  return { session, fix: library.fix };
}

function notCompiled(cause: unknown, fix: string): NnError {
  if (isAboutTheLibrary(cause)) return unusable(cause.message, fix, cause);
  return new NnError('ERR_EXECUTOR', `onnxruntime could not compile a graph: ${String(cause)}`, { cause });
}

function unusable(problem: string, fix: string, cause?: Error): NnError {
  return new NnError('ERR_EXECUTOR', `onnxruntime cannot be used: ${problem}. ${fix}.`, { cause });
}

function isAboutTheLibrary(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'LIBRARY';
}

class OnnxruntimeProgram implements Program {
  /** Without its bytes. */
  readonly #model: Omit<OnnxModel, 'model'>;
  readonly #session: NativeOnnxSession;
  /** Weak, because a program that waits for its next run must not keep the arrays of a model. */
  #binding: WeakRef<ProgramBinding> | undefined;
  #pendingRuns = 0;

  constructor({ name, details, inputs, outputs, isLong }: OnnxModel, session: NativeOnnxSession) {
    this.#model = { name, details, inputs, outputs, isLong };
    this.#session = session;
  }

  /** For a chain of programs. */
  get session(): NativeOnnxSession {
    return this.#session;
  }

  async run(
    inputBuffers: readonly ValueBuffer[],
    outputBuffers: readonly ValueBuffer[],
    calls: readonly GraphCall[] = [],
    createLater: readonly (() => RunBuffers)[] = [],
  ): Promise<Waits> {
    const inputs = hostArrays(inputBuffers);
    this.#requireLengths(inputs);
    const later = createLater.map((create) => create());
    for (const run of later) this.#requireLengths(hostArrays(run.inputs));
    const called = calls.every(isNative) ? undefined : new JavaScriptCalls(this.#session, calls);
    const startedAt = performance.now();
    this.#pendingRuns += 1;
    try {
      const binding = this.#bindingOf(inputs, hostArrays(outputBuffers));
      binding.setCalls(calls);
      const running = later.length === 0 ? binding.run(called?.onCall) : binding.runEach(later);
      const ended = running ?? turnOfEventLoopIfDue();
      if (ended) {
        await ended;
        eventLoopTurned();
      }
      called?.throwFailure();
      const { waits } = binding;
      this.#recordRun(startedAt, waits.waitedMs);
      return waits;
    } catch (cause) {
      called?.throwFailure();
      await throwFailureOf(calls, cause);
      throw notRun(cause);
    } finally {
      this.#pendingRuns -= 1;
    }
  }

  runSync(inputBuffers: readonly ValueBuffer[], outputBuffers: readonly ValueBuffer[]): void {
    const inputs = hostArrays(inputBuffers);
    this.#requireLengths(inputs);
    const startedAt = performance.now();
    try {
      this.#bindingOf(inputs, hostArrays(outputBuffers)).runSync();
    } catch (cause) {
      throw notRun(cause);
    }
    this.#recordRun(startedAt, 0);
  }

  async release(): Promise<void> {
    const released = this.#session.release();
    if (this.#pendingRuns > 0) await released;
    // Synchronous code may leave no turn in which the collector would free the arrays.
    this.#binding?.deref()?.release();
    this.#binding = undefined;
    await released;
  }

  #recordRun(startedAt: number, waitedMs: number): void {
    const { name, details } = this.#model;
    recordActivity('compute', name, startedAt, performance.now() - waitedMs, details);
  }

  /** An array may have been transferred (and emptied) since its tensor was created. */
  #requireLengths(inputs: readonly TensorData[]): void {
    for (let position = 0; position < inputs.length; position += 1) {
      if (inputs[position].length === 0) requireLength(inputs[position], this.#model.inputs[position]);
    }
  }

  #bindingOf(inputs: readonly TensorData[], outputs: readonly TensorData[]): ProgramBinding {
    const known = this.#binding?.deref();
    known?.place(inputs, outputs);
    if (known) return known;
    const binding = new ProgramBinding(this.#session, inputs, outputs);
    this.#binding = new WeakRef(binding);
    return binding;
  }
}

function notRun(cause: unknown): NnError {
  const refusal = refusalOf(cause);
  if (refusal !== undefined) return new ArgumentError(refusal, { cause });
  return new NnError('ERR_EXECUTOR', `onnxruntime could not run a graph: ${String(cause)}`, { cause });
}

/** The message of a named addon operator about the user's values. */
function refusalOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const said = /Name:'(?<beginning>[^']+)#_\d+' Status Message: \w+: (?<end>.*)$/s.exec(
    cause.message,
  )?.groups;
  return said && `${said.beginning}${said.end}.`;
}

function isNative(call: GraphCall): boolean {
  return 'operations' in call;
}

/** Throws the error of the call that made a run fail, if one did. */
async function throwFailureOf(calls: readonly GraphCall[], cause: unknown): Promise<void> {
  const { failedCall } = cause as { failedCall?: number };
  const call = failedCall === undefined ? undefined : calls[failedCall];
  if (call && 'operations' in call) for (const operation of call.operations) await operation.ended();
  if (call && 'refusal' in call) throw call.refusal();
}

/** The calls of one run, some of which need JavaScript. */
class JavaScriptCalls {
  /** The calls for the run. Each belongs to the operation that runs the graph. */
  readonly onCall = AsyncResource.bind((call: number, run: number) => {
    this.#start(call, run);
  });
  readonly #session: NativeOnnxSession;
  readonly #calls: readonly GraphCall[];
  #failure: { readonly error: unknown } | undefined;

  constructor(session: NativeOnnxSession, calls: readonly GraphCall[]) {
    this.#session = session;
    this.#calls = calls;
  }

  /** Throws the error of the first call that failed. */
  throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Must not throw. */
  #start(index: number, run: number): void {
    const call = this.#calls[index];
    if ('notify' in call) {
      try {
        call.notify();
      } catch (error) {
        this.#failure ??= { error };
      }
    } else if ('perform' in call) {
      void call.perform().then(
        () => {
          this.#session.endCall(run, index, true);
        },
        (error: unknown) => {
          this.#failure ??= { error };
          this.#session.endCall(run, index, false);
        },
      );
    }
  }
}

function slot(name: string, { dtype, shape }: ValueType): NativeOnnxSlot {
  return {
    name,
    elementType: dataTypeCode[dtype],
    elementBytes: bytesPerElement[dtype],
    shape,
  };
}

function options({ isLong }: OnnxModel): NativeOnnxOptions {
  return {
    // 0: onnxruntime's default.
    intraOpThreads: threadCount(process.env) ?? 0,
    computeNice: computeNice(),
    // Optimization passes visit every operator and find little in a training step: without them, a GRU over 256 steps
    // (18,000 operators) compiles in 3.2 s instead of 9.4 s, with equal run time and results.
    optimizes: !isLong,
    // Spinning threads compete with the garbage collector, communication and other ranks: a step of the MNIST CNN on
    // two threads takes 11.2 ms with spinning and 7.7 ms without.
    entries: {
      'session.intra_op.allow_spinning': '0',
      // DivMulFusion replaces (1 / a)·b by b / a, which rounds differently, and does not record that the quotient reads b: a
      // later pass that removes the node of b, such as an Identity, leaves a graph that is invalid (onnxruntime 1.30). Pad_Fusion
      // leaves one too, as in the second derivative of a transposed convolution with groups.
      'optimization.disable_specified_optimizers': 'DivMulFusion;Pad_Fusion',
    },
  };
}

/**
 * Steps of nice(2) by which computing threads give way to the event loop and to communication. With them and with short
 * slices, a timer of 5 ms is late by 1.5 to 2 ms instead of 4 ms while ResNet-18 trains on as many threads as cores (99th
 * percentile, Linux 6.18).
 */
function computeNice(): number {
  const given = process.env.RINGRUN_COMPUTE_NICE ?? '5';
  if (/^1?\d$/.test(given)) return Number(given);
  throw new NnError(
    'ERR_EXECUTOR',
    `RINGRUN_COMPUTE_NICE: expected an integer from 0 to 19, got ${JSON.stringify(given)}. Unset it for the default, 5.`,
  );
}
