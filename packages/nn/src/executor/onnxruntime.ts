import './no-telemetry.ts';
import { timed } from '@ringrun/core';
import * as ort from 'onnxruntime-node';
import type { TensorData } from '../dtype.ts';
import { NnError } from '../errors.ts';
import type { ValueType } from '../graph/node.ts';
import { requireLength } from '../require-length.ts';
import { freeBuffers } from './free-buffers.ts';
import { inputName, outputName, type Executor, type Program, type ProgramDefinition } from './executor.ts';

/** Runs graphs on onnxruntime's CPU provider with OMP_NUM_THREADS threads. Default: one per core. */
export const onnxruntimeExecutor: Executor = {
  async compile(definition) {
    try {
      return new OnnxruntimeProgram(
        definition,
        await ort.InferenceSession.create(definition.model, options(definition)),
      );
    } catch (cause) {
      throw new NnError('ERR_EXECUTOR', `onnxruntime could not compile a graph: ${String(cause)}`, { cause });
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
      // The array may have been transferred (and emptied) since its tensor was created.
      requireLength(inputs[position], type);
      feeds[inputName(position)] = tensorOver(inputs[position], type);
    }
    const fetches: Record<string, ort.Tensor> = {};
    for (const [position, type] of this.#definition.outputs.entries()) {
      fetches[outputName(position)] = tensorOver(outputs[position], type);
    }
    try {
      const results = await timed('compute', this.#definition.name, () => this.#session.run(feeds, fetches));
      discardCopies(results, fetches);
    } catch (cause) {
      throw new NnError('ERR_EXECUTOR', `onnxruntime could not run a graph: ${String(cause)}`, { cause });
    }
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

/** Frees the copies that onnxruntime-node returns in addition to the outputs written in place. */
function discardCopies(results: ort.InferenceSession.ReturnType, fetches: Record<string, ort.Tensor>): void {
  const copies = Object.entries(results).filter(([name, { data }]) => data !== fetches[name].data);
  freeBuffers(copies.map(([, { data }]) => (data as TensorData).buffer as ArrayBuffer));
}

/** onnxruntime's tensor of each array, cached because parameters and gradients are bound at every step. */
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
    // 0: onnxruntime's default.
    intraOpNumThreads: Number.isInteger(threads) && threads > 0 ? threads : 0,
    interOpNumThreads: 1,
    // Spinning threads compete with the garbage collector, communication and other ranks: a step of the MNIST CNN on
    // two threads takes 11.2 ms with spinning and 7.7 ms without.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
    executionMode: 'sequential',
    enableCpuMemArena: holdsMemory,
    // A memory pattern allocates one block beside the arena of the first run: a step of ResNet-18 (batch 64) takes
    // 2.6 GB and 2.7 s with patterns, 1.6 GB and 2.5 s without. Small models are equally fast.
    enableMemPattern: false,
    // Optimization passes visit every operator and find little in a training step: without 'basic', a GRU over 256
    // steps (18,000 operators) compiles in 3.2 s instead of 9.4 s, with equal run time and results.
    graphOptimizationLevel: isLong ? 'disabled' : 'all',
    // 4: fatal. Errors are thrown anyway; warnings are about optimizations that need constant weights.
    logSeverityLevel: 4,
  };
}
