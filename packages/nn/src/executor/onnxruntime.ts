import { timed } from '@ringrun/core';
import {
  loadNative,
  type NativeOnnxOptions,
  type NativeOnnxSession,
  type NativeOnnxSlot,
} from '@ringrun/native';
import { newArray, type TensorData } from '../dtype.ts';
import { NnError } from '../errors.ts';
import type { ValueType } from '../graph/node.ts';
import { dataTypeCode } from '../onnx/schema.ts';
import { requireLength } from '../require-length.ts';
import { inputName, outputName, type Executor, type Program, type ProgramDefinition } from './executor.ts';
import { onnxruntimeLibrary } from './library.ts';

/** Runs graphs on onnxruntime's CPU provider with OMP_NUM_THREADS threads. Default: one per core. */
export const onnxruntimeExecutor: Executor = {
  async compile(definition) {
    const { OnnxSession } = loadNative();
    const session = new OnnxSession(
      onnxruntimeLibrary(),
      definition.inputs.map((type, position) => slot(inputName(position), type)),
      definition.outputs.map((type, position) => slot(outputName(position), type)),
      options(definition),
    );
    try {
      await session.compile(definition.model);
    } catch (cause) {
      throw new NnError('ERR_EXECUTOR', `onnxruntime could not compile a graph: ${String(cause)}`, { cause });
    }
    return new OnnxruntimeProgram(definition, session);
  },
};

class OnnxruntimeProgram implements Program {
  readonly #definition: ProgramDefinition;
  readonly #session: NativeOnnxSession;

  constructor(definition: ProgramDefinition, session: NativeOnnxSession) {
    this.#definition = definition;
    this.#session = session;
  }

  async run(inputs: readonly TensorData[], outputs: readonly TensorData[]): Promise<void> {
    // An array may have been transferred (and emptied) since its tensor was created.
    for (const [position, type] of this.#definition.inputs.entries()) requireLength(inputs[position], type);
    try {
      await timed('compute', this.#definition.name, () => this.#session.run(inputs, outputs));
    } catch (cause) {
      throw new NnError('ERR_EXECUTOR', `onnxruntime could not run a graph: ${String(cause)}`, { cause });
    }
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

function slot(name: string, { dtype, shape }: ValueType): NativeOnnxSlot {
  return {
    name,
    elementType: dataTypeCode[dtype],
    elementBytes: newArray(dtype, 0).BYTES_PER_ELEMENT,
    shape,
  };
}

function options({ holdsMemory, isLong }: ProgramDefinition): NativeOnnxOptions {
  const threads = Number(process.env.OMP_NUM_THREADS);
  return {
    // 0: onnxruntime's default.
    intraOpThreads: Number.isInteger(threads) && threads > 0 ? threads : 0,
    arena: holdsMemory,
    // Optimization passes visit every operator and find little in a training step: without them, a GRU over 256 steps
    // (18,000 operators) compiles in 3.2 s instead of 9.4 s, with equal run time and results.
    optimizes: !isLong,
    // Spinning threads compete with the garbage collector, communication and other ranks: a step of the MNIST CNN on
    // two threads takes 11.2 ms with spinning and 7.7 ms without.
    entries: { 'session.intra_op.allow_spinning': '0' },
  };
}
