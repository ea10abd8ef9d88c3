import './no-telemetry.ts';
import * as ort from 'onnxruntime-node';
import { observed } from '../activity.ts';
import type { TensorData } from '../dtype.ts';
import { NnError } from '../errors.ts';
import type { ValueType } from '../graph/node.ts';
import { requireLength } from '../require-length.ts';
import { discard } from './discard.ts';
import { inputName, outputName, type Executor, type Program, type ProgramDefinition } from './executor.ts';

/** Runs graphs on onnxruntime's CPU provider, on OMP_NUM_THREADS threads (every core when it is not set). */
export const onnxruntimeExecutor: Executor = {
  async compile(definition) {
    try {
      return new OnnxruntimeProgram(
        definition,
        await ort.InferenceSession.create(definition.model, options(definition)),
      );
    } catch (cause) {
      throw new NnError('ERR_EXECUTOR', `onnxruntime refused a graph: ${String(cause)}`, { cause });
    }
  },
};

class OnnxruntimeProgram implements Program {
  readonly #definition: ProgramDefinition;
  readonly #session: ort.InferenceSession;

  constructor(definition: ProgramDefinition, session: ort.InferenceSession) {
    this.#definition = definition;
    this.#session = session;
  }

  async run(inputs: readonly TensorData[], outputs: readonly TensorData[]): Promise<void> {
    const feeds: Record<string, ort.Tensor> = {};
    for (const [position, type] of this.#definition.inputs.entries()) {
      // What was there when a tensor was made over it may have been handed on since.
      requireLength(inputs[position], type);
      feeds[inputName(position)] = tensorOver(inputs[position], type);
    }
    const fetches: Record<string, ort.Tensor> = {};
    for (const [position, type] of this.#definition.outputs.entries()) {
      fetches[outputName(position)] = tensorOver(outputs[position], type);
    }
    try {
      const results = await observed('compute', this.#definition.name, () =>
        this.#session.run(feeds, fetches),
      );
      discardCopies(results, fetches);
    } catch (cause) {
      throw new NnError('ERR_EXECUTOR', `onnxruntime could not run a graph: ${String(cause)}`, { cause });
    }
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

/** Outputs are written in their places, and onnxruntime-node gives each once more, as a copy that nobody asked for. */
function discardCopies(results: ort.InferenceSession.ReturnType, places: Record<string, ort.Tensor>): void {
  const copies = Object.entries(results).filter(([name, { data }]) => data !== places[name].data);
  discard(copies.map(([, { data }]) => (data as TensorData).buffer as ArrayBuffer));
}

/** onnxruntime's view of each array, kept as long as the array: parameters and gradients meet it at every step. */
const views = new WeakMap<TensorData, ort.Tensor>();

function tensorOver(data: TensorData, { dtype, shape }: ValueType): ort.Tensor {
  const known = views.get(data);
  if (known !== undefined && sameDimensions(known.dims, shape)) return known;
  const view = new ort.Tensor(dtype, data, shape);
  views.set(data, view);
  return view;
}

function sameDimensions(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

function options({ holdsMemory, isLong }: ProgramDefinition): ort.InferenceSession.SessionOptions {
  const threads = Number(process.env.OMP_NUM_THREADS);
  return {
    // 0 lets onnxruntime choose.
    intraOpNumThreads: Number.isInteger(threads) && threads > 0 ? threads : 0,
    interOpNumThreads: 1,
    // Threads that wait for work sleep. Spinning, they take the processors from the garbage collector, the communication and other ranks: a
    // step of the MNIST CNN on two threads takes 11.2 ms that way, and 7.7 ms without.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
    executionMode: 'sequential',
    enableCpuMemArena: holdsMemory,
    // A pattern is one block of the size of all, beside the arena that the first run has filled: a step of ResNet-18 (batch 64) then takes 2.6 GB and 2.7 s, and 1.6 GB and 2.5 s
    // without; small models are as fast either way.
    enableMemPattern: false,
    // Each of the passes looks at every operator, and finds little in a training step. A GRU over 256 steps, 18,000 operators, is compiled in a third of the processor time
    // without those of 'basic' (3.2 s of 9.4 s on a busy machine); a run takes the same time and has the same bits.
    graphOptimizationLevel: isLong ? 'disabled' : 'all',
    // 4: fatal. Errors arrive as exceptions, and its warnings speak of optimisations that a graph without constant weights cannot get.
    logSeverityLevel: 4,
  };
}
