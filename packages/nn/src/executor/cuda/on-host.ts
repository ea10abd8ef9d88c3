import { newArray, type TensorData } from '../../dtype.ts';
import { inFloat32, sizeOf, type ValueType } from '../../value-type.ts';
import type { GraphCall, Program, ProgramDefinition, RunBuffers, Waits } from '../executor.ts';
import { allOnHost, type ValueBuffer } from '../value-buffer.ts';
import type { ValueMemory } from '../value-memory.ts';
import { deviceBuffer } from './device-buffer.ts';

/** A graph that runs on the CPU, with its buffers on a GPU: copied to the host before a run, and back after it. */
export class HostProgram implements Program {
  readonly #memory: ValueMemory;
  readonly #program: Program;
  readonly #outputs: readonly ValueType[];
  readonly #inputs: readonly ValueType[];
  readonly #parts: readonly (readonly number[])[];
  readonly #ownOutputs: number;

  constructor(memory: ValueMemory, program: Program, { leaves, outputs, parts, update }: ProgramDefinition) {
    this.#memory = memory;
    this.#program = program;
    this.#inputs = [...leaves, ...(update?.leaves ?? [])].map(({ value }) => inFloat32(value));
    this.#outputs = [...outputs, ...(update?.outputs ?? [])].map(inFloat32);
    this.#parts = parts;
    this.#ownOutputs = outputs.length;
  }

  async run(
    inputs: readonly ValueBuffer[],
    outputs: readonly ValueBuffer[],
    calls: readonly GraphCall[] = [],
    later: readonly (() => RunBuffers)[] = [],
  ): Promise<Waits> {
    let waits = { waitedMs: 0, ranMs: 0 };
    for (const create of [() => ({ inputs, outputs }), ...later]) {
      const run = create();
      const [read, written] = this.#arraysOf(run);
      const first = calls.length - this.#parts.length;
      const placed = calls.map((call, index) =>
        index < first
          ? collectiveOnHost(call)
          : this.#partOnHost(call, this.#parts[index - first], run, written),
      );
      try {
        const own = await this.#program.run(allOnHost(read), allOnHost(written), placed);
        waits = { waitedMs: waits.waitedMs + own.waitedMs, ranMs: waits.ranMs + own.ranMs };
      } finally {
        freeInputs(run);
      }
      this.#writeBack(run, written);
    }
    return waits;
  }

  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void {
    const run = { inputs, outputs };
    const [read, written] = this.#arraysOf(run);
    try {
      this.#program.runSync(allOnHost(read), allOnHost(written));
    } finally {
      freeInputs(run);
    }
    this.#writeBack(run, written);
  }

  release(): Promise<void> {
    return this.#program.release();
  }

  /** The call of a part, which uses the outputs in the memory of the GPU. */
  #partOnHost(
    call: GraphCall,
    part: readonly number[],
    { outputs }: RunBuffers,
    written: readonly TensorData[],
  ): GraphCall {
    const write = () => {
      for (const output of part) this.#memory.write(outputs[output], written[output]);
    };
    if ('notify' in call) {
      const notify = () => {
        write();
        call.notify();
      };
      return { notify };
    }
    if (!('group' in call)) return call;
    const { group, buckets } = call;
    const perform = async () => {
      write();
      if (group) await this.#memory.collectives!.average(group, buckets);
      for (const output of part) this.#memory.read(outputs[output], written[output]);
    };
    return { perform, sends: [], receives: [] };
  }

  #arraysOf({ inputs, outputs }: RunBuffers): readonly [readonly TensorData[], readonly TensorData[]] {
    const arrays = new Map<ValueBuffer, TensorData>();
    const read = inputs.map((buffer, index) => {
      const array = arrays.get(buffer) ?? this.#arrayOf(buffer, this.#inputs[index]);
      arrays.set(buffer, array);
      return array;
    });
    const written = outputs.map((buffer, index) => {
      const { dtype, shape } = this.#outputs[index];
      return arrays.get(buffer) ?? newArray(dtype, sizeOf(shape));
    });
    return [read, written];
  }

  #arrayOf(buffer: ValueBuffer, { dtype, shape }: ValueType): TensorData {
    const { length, snapshot } = deviceBuffer(buffer);
    const array = newArray(dtype, length === sizeOf(shape) ? length : 0);
    if (snapshot) new Uint8Array(array.buffer).set(snapshot.subarray(0, array.byteLength));
    else this.#memory.read(buffer, array);
    return array;
  }

  #writeBack({ outputs }: RunBuffers, arrays: readonly TensorData[]): void {
    const delivered = new Set(this.#parts.flat());
    for (const [index, array] of arrays.entries()) {
      // A call may have changed what a part has delivered.
      if (index < this.#ownOutputs && delivered.has(index)) continue;
      this.#memory.write(outputs[index], array);
    }
  }
}

function collectiveOnHost(call: GraphCall): GraphCall {
  return 'group' in call ? call.onHost! : call;
}

function freeInputs({ inputs }: RunBuffers): void {
  for (const input of inputs) {
    const buffer = deviceBuffer(input);
    if (buffer.isOfOneRun) buffer.free();
  }
}
