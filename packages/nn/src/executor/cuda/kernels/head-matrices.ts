import type { GpuAddress, GpuDType } from '@ringrun/native';
import type { AttentionPlaces, HeadLayout } from '../../../graph/attributes.ts';
import { sizeOf } from '../../../value-type.ts';
import { bytesOf } from '../element-types.ts';
import { blockSize, generated, mergedAxes, positionOf, type Axis } from '../generated.ts';
import { after, type Lowering } from '../lowering.ts';

/** The rows of all heads of an operand of attention. */
export interface HeadRows {
  readonly at: GpuAddress;
  readonly layout: HeadLayout;
  readonly rows: number;
  readonly size: number;
}

/** A matrix for each head, at equal distances, as a product takes them. Strides in elements. */
export interface HeadMatrices {
  readonly at: GpuAddress;
  readonly dtype: GpuDType;
  readonly rows: number;
  readonly columns: number;
  readonly rowStride: number;
  readonly batchStride: number;
}

/** Bytes that a thread copies at a time, and the type that has so many. */
const units = [
  { bytes: 16, type: 'uint4' },
  { bytes: 8, type: 'uint2' },
  { bytes: 4, type: 'unsigned' },
  { bytes: 2, type: 'unsigned short' },
] as const;

/** Operands as matrices: where they are, if a product can read them there, or scratch memory of the node. */
export class HeadCopies {
  readonly #lowering: Lowering;
  readonly #batch: readonly number[];
  readonly #dtype: GpuDType;
  readonly #bytes: number;

  constructor(lowering: Lowering, { batch }: AttentionPlaces, dtype: GpuDType) {
    this.#lowering = lowering;
    this.#batch = batch;
    this.#dtype = dtype;
    this.#bytes = bytesOf(dtype);
  }

  /** Matrices of operands. All that a product cannot read where they are are copied by one launch. */
  read(operands: readonly HeadRows[]): readonly HeadMatrices[] {
    const matrices = operands.map((operand) => this.#matricesOf(operand));
    this.#copy('read', operands, matrices);
    return matrices;
  }

  /** Matrices for results. Call the function after they are written: one launch copies those that are not where they belong. */
  write(results: readonly HeadRows[]): {
    readonly matrices: readonly HeadMatrices[];
    readonly end: () => void;
  } {
    const matrices = results.map((result) => this.#matricesOf(result));
    const end = () => {
      this.#copy('write', results, matrices);
    };
    return { matrices, end };
  }

  #matricesOf(operand: HeadRows): HeadMatrices {
    const { rows, size } = operand;
    const place = matricesInPlace(operand, this.#batch, this.#bytes) ?? {
      at: this.#lowering.scratch(this.#bytes * sizeOf(this.#batch) * rows * size),
      rowStride: size,
      batchStride: rows * size,
    };
    return { ...place, dtype: this.#dtype, rows, columns: size };
  }

  /** Block (x, y) copies elements of copy y. */
  #copy(way: 'read' | 'write', all: readonly HeadRows[], matrices: readonly HeadMatrices[]): void {
    const copies = all
      .map((rows, index) => ({ rows, matrix: matrices[index].at }))
      .filter(({ rows }) => matricesInPlace(rows, this.#batch, this.#bytes) === undefined);
    if (copies.length === 0) return;
    const { bytes, type } = units.find((unit) => copies.every(({ rows }) => this.#allows(unit.bytes, rows)))!;
    const counts = copies.map(
      ({ rows }) => (sizeOf(this.#batch) * rows.rows * rows.size * this.#bytes) / bytes,
    );
    const lines = copies.map(({ rows }, copy) => {
      const strided = `strided${copy}[${positionOf(this.#axesOf(rows, bytes / this.#bytes), 0)}]`;
      const [to, from] = way === 'read' ? [`packed${copy}[i]`, strided] : [strided, `packed${copy}[i]`];
      return `  if (blockIdx.y == ${copy} && i < ${counts[copy]}u) ${to} = ${from};`;
    });
    const [ofStrided, ofPacked] = way === 'read' ? [`const ${type}`, type] : [type, `const ${type}`];
    const parameters = copies.flatMap((_, copy) => [
      `${ofStrided}* strided${copy}`,
      `${ofPacked}* packed${copy}`,
    ]);
    const index = `  const unsigned i = blockIdx.x * ${blockSize}u + threadIdx.x;`;
    const kernel = generated(`${way}Heads`, parameters, [index, ...lines].join('\n'));
    const places = copies.flatMap(({ rows: { at, layout }, matrix }) => [
      after(at, this.#bytes * layout.first),
      matrix,
    ]);
    const blocks = Math.ceil(Math.max(...counts) / blockSize);
    this.#lowering.launch(kernel, [blocks, copies.length, 1], [blockSize, 1, 1], places);
  }

  /** The axes of an operand, with distances in units of so many elements. */
  #axesOf({ layout, rows, size }: HeadRows, elements: number): readonly Axis[] {
    const shape = [...this.#batch, rows, size / elements];
    const strides = [...layout.strides.map((stride) => stride / elements), 1];
    return mergedAxes(shape.map((of, axis) => ({ size: of, strides: [strides[axis]] })));
  }

  #allows(bytes: number, { at, layout, size }: HeadRows): boolean {
    const numbers = [layout.first, size, ...layout.strides].map((elements) => elements * this.#bytes);
    return [...numbers, offsetOf(at)].every((one) => one % bytes === 0);
  }
}

/**
 * Where matrices are without a copy: if one distance leads from each head to the next, and rows begin at multiples of 16 bytes.
 * Undefined otherwise.
 */
export function matricesInPlace(
  { at, layout: { first, strides } }: Pick<HeadRows, 'at' | 'layout'>,
  batch: readonly number[],
  bytes: number,
): Pick<HeadMatrices, 'at' | 'rowStride' | 'batchStride'> | undefined {
  const rowStride = strides.at(-1)!;
  const axes = mergedAxes(batch.map((size, axis) => ({ size, strides: [strides[axis]] })));
  if (axes.length > 1) return undefined;
  const batchStride = axes.length === 0 ? 0 : axes[0].strides[0];
  const isAligned = [first, rowStride, batchStride].every((elements) => (elements * bytes) % 16 === 0);
  return isAligned && offsetOf(at) % 16 === 0
    ? { at: after(at, bytes * first), rowStride, batchStride }
    : undefined;
}

/** In its slot, whose memory is aligned. */
function offsetOf(at: GpuAddress): number {
  return 'arena' in at ? at.arena : (at.byteOffset ?? 0);
}
