import { rewrite } from '../../src/compiler/rewrite.ts';
import { plainOperators } from '../../src/compiler/rewrites/plain-operators.ts';
import { newArray, type TensorData } from '../../src/dtype.ts';
import type {
  Executor,
  GraphCall,
  Program,
  ProgramDefinition,
  RunBuffers,
} from '../../src/executor/executor.ts';
import type { ValueBuffer } from '../../src/executor/value-buffer.ts';
import type { Value } from '../../src/graph/node.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { sizeOf } from '../../src/value-type.ts';
import { interpret } from './reference.ts';

/**
 * An executor over the reference interpreter, with memory of its own: a second implementation of the interface, which knows
 * neither ONNX nor the operators of the addon. It keeps the graph and its leaves, as no other executor may.
 */
export class ReferenceExecutor implements Executor {
  readonly device = 'cuda:0';
  readonly usesHostMemory = false;
  /** Operators of the graphs that were compiled. */
  readonly operators = new Set<string>();
  /** Names of the programs that were compiled. */
  readonly compiled: string[] = [];
  readonly #elements = new WeakMap<ValueBuffer, TensorData>();

  /** The gradient of an operator of the addon has no plain form. */
  prepareForward(outputs: readonly Value[]): readonly Value[] {
    return rewrite(outputs, [plainOperators]);
  }

  compile(definition: ProgramDefinition): Promise<Program> {
    return Promise.resolve(this.compileSync(definition));
  }

  compileSync(definition: ProgramDefinition): Program {
    const { name, outputs, update } = definition;
    this.compiled.push(name);
    for (const { op } of topologicalOrder([...outputs, ...(update?.outputs ?? [])])) this.operators.add(op);
    const runOn = async (buffers: RunBuffers, calls: readonly GraphCall[]) => {
      this.#compute(definition, buffers);
      for (const call of calls) {
        if ('notify' in call) call.notify();
        else if ('perform' in call) await call.perform();
      }
      this.#update(definition, buffers);
    };
    return {
      run: async (inputs, outputs, calls = [], later = []) => {
        for (const create of [() => ({ inputs, outputs }), ...later]) await runOn(create(), calls);
        return { waitedMs: 0, ranMs: 0 };
      },
      runSync: (inputs, outputs) => {
        this.#compute(definition, { inputs, outputs });
      },
      release: () => Promise.resolve(),
    };
  }

  allocate({ dtype, shape }: Value): ValueBuffer {
    return this.#place(newArray(dtype, sizeOf(shape)));
  }

  reserve(type: Value): ValueBuffer {
    return this.allocate(type);
  }

  upload(array: TensorData): ValueBuffer {
    return this.#place(array.slice());
  }

  keep(array: TensorData): ValueBuffer {
    return this.#place(array.slice());
  }

  download(output: ValueBuffer): Promise<TensorData> {
    return Promise.resolve(this.#of(output));
  }

  move(outputs: readonly (readonly [ValueBuffer, ValueBuffer])[]): void {
    for (const [output, to] of outputs) copy(this.#of(output), this.#of(to));
  }

  write(buffer: ValueBuffer, array: TensorData): void {
    copy(array, this.#of(buffer));
  }

  read(buffer: ValueBuffer, array: TensorData): void {
    copy(this.#of(buffer), array);
  }

  #compute({ leaves, outputs }: ProgramDefinition, buffers: RunBuffers): void {
    const given = new Map(leaves.map(({ value }, i) => [value, this.#numbersOf(buffers.inputs[i])]));
    for (const [i, numbers] of interpret(outputs, given).entries()) this.#store(buffers.outputs[i], numbers);
  }

  #update({ leaves, outputs, update }: ProgramDefinition, buffers: RunBuffers): void {
    if (!update) return;
    const all = [...leaves, ...update.leaves];
    const given = new Map(all.map(({ value }, i) => [value, this.#numbersOf(buffers.inputs[i])]));
    for (const [output, value] of update.reads) given.set(value, this.#numbersOf(buffers.outputs[output]));
    const results = interpret(update.outputs, given);
    for (const [i, numbers] of results.entries()) this.#store(buffers.outputs[outputs.length + i], numbers);
  }

  #place(array: TensorData): ValueBuffer {
    const buffer = {} as ValueBuffer;
    this.#elements.set(buffer, array);
    return buffer;
  }

  #of(buffer: ValueBuffer): TensorData {
    return this.#elements.get(buffer)!;
  }

  #numbersOf(buffer: ValueBuffer): Float64Array {
    return Float64Array.from(this.#of(buffer), Number);
  }

  #store(buffer: ValueBuffer, numbers: Float64Array): void {
    const array = this.#of(buffer);
    for (const [i, number] of numbers.entries()) {
      array[i] = array instanceof BigInt64Array ? BigInt(number) : number;
    }
  }
}

function copy(from: TensorData, to: TensorData): void {
  (to as Float32Array).set(from as Float32Array);
}
