import type { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import type { Value } from '../graph/node.ts';
import type { Source } from '../graph/source.ts';
import { sparseRowValues } from '../ops/own/sparse-rows.ts';
import { input } from '../ops/source.ts';
import type { Parameter } from '../tensor/parameter.ts';

/** Reads memory that may be another at each run. */
class MemorySource implements Source {
  readonly #memory: () => ManagedBuffer;

  constructor(memory: () => ManagedBuffer) {
    this.#memory = memory;
  }

  get memory(): ManagedBuffer {
    return this.#memory();
  }

  get data(): Float32Array {
    return this.memory.array;
  }

  bufferIn(memory: ValueMemory): ValueBuffer {
    return this.memory.forReading(memory);
  }
}

export function leafOf(memory: ManagedBuffer, shape: readonly number[]): Value {
  return input('float32', shape, new MemorySource(() => memory));
}

/** The leaf that reads the gradient of a parameter: packed rows, if it is sparse. Those may move to other memory. */
export function gradientLeafOf(parameter: Parameter): Value {
  if (parameter.sparseGradient === undefined) return leafOf(parameter.gradientMemory, parameter.shape);
  const shape = [parameter.gradientMemory.length];
  return input('float32', shape, new MemorySource(() => parameter.gradientMemory));
}

/** The elements of a gradient that clipping reads: the values of its rows, if it is sparse. */
export function elementsOf({ sparseGradient }: Parameter, gradient: Value): Value {
  return sparseGradient ? sparseRowValues(gradient, sparseGradient.shape, sparseGradient.capacity) : gradient;
}
