import { InvalidArgumentError } from '@ringrun/core';
import type {
  DistributedModule,
  DistributedParameter,
  GradientPass,
  GradientRows,
  GradientSink,
  ProcessGroup,
} from '@ringrun/core';
import type { Settings } from './options.ts';
import type { Reducer } from './reducer.ts';
import { inStep } from './uneven-inputs.ts';

/**
 * The gradients of a model with sparse embeddings: dense ones are averaged in the buckets of a `Reducer`, and then the ranks
 * exchange the rows of the sparse ones, of which each rank may have another number (torch: the sparse all-reduce of gloo). Every
 * rank adds the rows of all ranks in the order of the ranks, so all have the same bits.
 */
export class SparseReducer implements GradientSink {
  readonly #group: ProcessGroup;
  readonly #dense: Reducer;
  readonly #sparse: readonly DistributedParameter[];

  /** @param sparse the parameters with sparse gradients, in the same order on all ranks */
  constructor(group: ProcessGroup, dense: Reducer, sparse: readonly DistributedParameter[]) {
    this.#group = group;
    this.#dense = dense;
    this.#sparse = sparse;
  }

  get order(): number {
    return this.#dense.order;
  }

  get version(): number {
    return this.#dense.version;
  }

  arrayOf(parameter: DistributedParameter): Float32Array {
    return this.#dense.arrayOf(parameter);
  }

  bucketIndexOf(parameter: DistributedParameter): number {
    return this.#sparse.includes(parameter) ? 0 : this.#dense.bucketIndexOf(parameter);
  }

  beginPass(parameters: readonly DistributedParameter[]): GradientPass {
    const pass = this.#dense.beginPass(parameters.filter((parameter) => !this.#sparse.includes(parameter)));
    if (this.#dense.isAccumulating) return pass;
    return {
      bucketReady: (index) => {
        pass.bucketReady(index);
      },
      // The number of rows is known only when the pass has ended.
      startableAt: () => undefined,
      done: async (settings) => {
        await pass.done(settings);
        try {
          await this.#exchange();
        } catch (error) {
          throw inStep(this.#dense.steps, error);
        }
      },
      abandon: (error, passes) => pass.abandon(error, passes),
    };
  }

  async #exchange(): Promise<void> {
    const own = this.#sparse.map(({ gradientRows }) => gradientRows);
    const { size } = this.#group;
    const counts = new Int32Array(size * own.length);
    await this.#group.allGather(
      counts,
      Int32Array.from(own, (rows) => rows?.indices.length ?? noGradient),
    );
    const countsOf = own.map((_, table) => columnOf(counts, table, own.length));
    const widths = this.#sparse.map(({ shape }) => shape[1]);
    const layout = layoutOf(countsOf, widths);
    const sent = new Float32Array(layout.length);
    for (const [table, rows] of own.entries()) if (rows) write(sent, layout.places[table], rows);
    const received = new Float32Array(size * sent.length);
    if (sent.length > 0) await this.#group.allGather(received, sent);
    for (const [table, parameter] of this.#sparse.entries()) {
      const ranks = countsOf[table];
      if (ranks.every((count) => count === noGradient)) continue;
      const ofRanks = ranks.map((count, rank) =>
        rowsAt(
          received.subarray(rank * sent.length),
          layout.places[table],
          Math.max(0, count),
          widths[table],
        ),
      );
      parameter.averageGradientRows!(ofRanks, size);
    }
  }
}

/** The count of a rank whose losses do not depend on a parameter. */
const noGradient = -1;

/** Where the rows of a table are in the numbers of a rank: room for as many as any rank has. */
interface Place {
  readonly indices: number;
  readonly values: number;
}

function layoutOf(
  countsOf: readonly (readonly number[])[],
  widths: readonly number[],
): { readonly places: readonly Place[]; readonly length: number } {
  let length = 0;
  const places = countsOf.map((counts, table) => {
    const most = Math.max(0, ...counts);
    const place = { indices: length, values: length + most };
    length += most * (1 + widths[table]);
    return place;
  });
  return { places, length };
}

function write(numbers: Float32Array, place: Place, { indices, values }: GradientRows): void {
  indicesAt(numbers, place, indices.length).set(indices);
  numbers.set(values, place.values);
}

function rowsAt(numbers: Float32Array, place: Place, count: number, width: number): GradientRows {
  const values = numbers.subarray(place.values, place.values + count * width);
  return { indices: indicesAt(numbers, place, count), values };
}

/** Indices travel as the bits of float32 numbers, with the values. */
function indicesAt({ buffer, byteOffset }: Float32Array, place: Place, count: number): Int32Array {
  return new Int32Array(buffer, byteOffset + place.indices * Int32Array.BYTES_PER_ELEMENT, count);
}

/** A column of a matrix. */
function columnOf(matrix: Int32Array, column: number, columns: number): number[] {
  return Array.from({ length: matrix.length / columns }, (_, row) => matrix[row * columns + column]);
}

/** The sink of a model's parameters. */
export function gradientSinkOf(
  group: ProcessGroup,
  reducer: Reducer,
  parameters: readonly DistributedParameter[],
): GradientSink {
  const sparse = parameters.filter(isSparse);
  return sparse.length === 0 ? reducer : new SparseReducer(group, reducer, sparse);
}

export function isDense(parameter: DistributedParameter): boolean {
  return !isSparse(parameter);
}

function isSparse({ hasSparseGradient }: DistributedParameter): boolean {
  return hasSparseGradient === true;
}

/** @throws InvalidArgumentError if the options need dense gradients, but a parameter has sparse ones */
export function requireMayBeSparse(
  module: DistributedModule,
  { shareParameters, faultTolerance }: Pick<Settings, 'shareParameters' | 'faultTolerance'>,
): void {
  if (shareParameters) requireDense(module, 'DistributedDataParallel: shareParameters');
  if (faultTolerance !== 'none')
    requireDense(module, `DistributedDataParallel: faultTolerance '${faultTolerance}'`);
}

/** @throws InvalidArgumentError if a parameter has sparse gradients, which `what` excludes */
export function requireDense(module: DistributedModule, what: string): void {
  for (const [name, parameter] of module.namedParameters()) {
    if (isDense(parameter)) continue;
    throw new InvalidArgumentError(
      `${what}: expected dense gradients, got a sparse one of ${name}. Leave sparse: true out of its embedding, or leave this feature out.`,
    );
  }
}
