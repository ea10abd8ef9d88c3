import type { GpuAddress } from '@ringrun/native';
import type { DType } from '../../../dtype.ts';
import type { Value } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import { isSameSequence } from '../../../graph/same-data.ts';
import { copyElements, type Elements } from '../copies.ts';
import { bytesOf, registerTypes } from '../element-types.ts';
import { stridesOf } from '../generated.ts';
import type { Kernel, Lowering, LoweringFamily } from '../lowering.ts';
import { float32, int64, kernelsIn, launchElements } from './launches.ts';
import { sourceOf } from './prelude.ts';
import { refusedElement } from './refusals.ts';

/**
 * Elements (`T`) at positions along an axis. An array is [outer, size, inner] around the axis, and positions are [outer, count, inner];
 * negative ones count from the end.
 */
const bodyOf = (total: string) => `
// Of sums of elements.
typedef ${total} Total;

struct Along {
  int64 size, count, inner;
};

// Where the element is that a position selects; -1 if there is none.
__device__ __forceinline__ int64 selected(const Along& along, int64 place, int64 position) {
  if (position < -along.size || position >= along.size) return -1;
  const int64 line = place / (along.count * along.inner) * along.size + (position < 0 ? position + along.size : position);
  return line * along.inner + place % along.inner;
}

extern "C" __global__ void __launch_bounds__(256) gatherElements(const T* data, const int64* positions, T* result, unsigned long long* refused,
                                                                 Along along, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 from = selected(along, i, positions[i]);
    if (from < 0) refuse(refused, i, positions[i]);
    else result[i] = data[from];
  }
}

// Positions along one line differ.
extern "C" __global__ void __launch_bounds__(256) writeElements(const int64* positions, const T* updates, T* result, unsigned long long* refused,
                                                                Along along, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 to = selected(along, i, positions[i]);
    if (to < 0) refuse(refused, i, positions[i]);
    else result[to] = updates[i];
  }
}

// An element reads all positions of its line, and adds its updates in order.
extern "C" __global__ void __launch_bounds__(256) addByScan(const int64* positions, const T* updates, T* result, unsigned long long* refused, Along along,
                                                            int64 size) {
  for (int64 element = firstElement(); element < size; element += gridStride()) {
    const int64 outer = element / along.inner;
    const int64 line = outer / along.size;
    const int64 own = outer - line * along.size;
    const int64 first = line * along.count * along.inner + (element - outer * along.inner);
    Total sum = 0;
    for (int64 k = 0; k < along.count; ++k) {
      const int64 i = first + k * along.inner;
      const int64 position = positions[i];
      const int64 to = position < 0 ? position + along.size : position;
      if (to == own) sum += updates[i];
      else if (own == 0 && (to < 0 || to >= along.size)) refuse(refused, i, position);
    }
    result[element] = sum;
  }
}

// The updates of an element as a list: links[size + update] is the next one, links[element] the first; -1 ends a list. Its order
// depends on timing.
extern "C" __global__ void __launch_bounds__(256) linkUpdates(const int64* positions, int* links, unsigned long long* refused, Along along, int64 size,
                                                              int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 to = selected(along, i, positions[i]);
    if (to < 0) refuse(refused, i, positions[i]);
    else links[size + i] = atomicExch(links + to, static_cast<int>(i));
  }
}

// Adds the updates of an element in their order, whatever the order of its list.
extern "C" __global__ void __launch_bounds__(256) addByLists(const T* updates, const int* links, T* result, int64 size) {
  for (int64 element = firstElement(); element < size; element += gridStride()) {
    Total sum = 0;
    int last = -1;
    while (true) {
      int next = 0x7fffffff;
      for (int update = links[element]; update >= 0; update = links[size + update]) {
        if (update > last && update < next) next = update;
      }
      if (next == 0x7fffffff) break;
      sum += updates[next];
      last = next;
    }
    result[element] = sum;
  }
}
`;

const names = ['gatherElements', 'writeElements', 'addByScan', 'linkUpdates', 'addByLists'] as const;

const kernelsFor = (dtype: DType) =>
  kernelsIn(`indexing-${dtype}.cu`, sourceOf(bodyOf(registerTypes[dtype]), { T: dtype }), names);

const kernels = {
  float32: kernelsFor('float32'),
  bfloat16: kernelsFor('bfloat16'),
  int64: kernelsFor('int64'),
  bool: kernelsFor('bool'),
} as const satisfies Record<DType, unknown>;

const oneHot = kernelsIn(
  'one-hot.cu',
  sourceOf(`
extern "C" __global__ void __launch_bounds__(256) oneHot(const int64* classes, float* result, float value, int64 depth, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 label = classes[i / depth];
    result[i] = (label < 0 ? label + depth : label) == i % depth ? value : 0.0f;
  }
}
`),
  ['oneHot'],
);

export const indexingKernels: readonly Kernel[] = [
  ...Object.values(kernels).flatMap((all) => Object.values(all)),
  ...Object.values(oneHot),
];

export const indexing: LoweringFamily<'GatherElements' | 'ScatterElements' | 'Scatter' | 'OneHot'> = {
  GatherElements: ({ inputs: [data, positions], outputs: [result], attributes: { axis } }, lowering) => {
    const part = partFor(data, positions, axis);
    let from = lowering.at(data);
    if (!isSameSequence(part.shape, data.shape)) {
      const scratch = lowering.scratch(sizeOf(part.shape) * bytesOf(data.dtype));
      copyElements(lowering, part, elementsOf(from, data), elementsOf(scratch, part));
      from = scratch;
    }
    const arrays = [from, lowering.at(positions), lowering.at(result)];
    const args = [...arrays, refusalOf(lowering, data, axis), along(part, positions, axis)];
    launchElements(lowering, kernels[data.dtype].gatherElements, sizeOf(result.shape), args);
  },
  ScatterElements: ({ inputs: [positions, updates], outputs: [result], attributes: { axis } }, lowering) => {
    const arrays = [lowering.at(positions), lowering.at(updates), lowering.at(result)] as const;
    addElements(lowering, positions, result, axis, ...arrays);
  },
  Scatter: ({ inputs: [data, positions, updates], outputs: [result], attributes: { axis } }, lowering) => {
    const bytes = sizeOf(data.shape) * bytesOf(data.dtype);
    if (bytes === 0) return;
    const whole = lowering.at(result);
    lowering.add({ kind: 'copy', name: 'scatter', from: lowering.at(data), to: whole, bytes });
    const part = partFor(data, positions, axis);
    const isWhole = isSameSequence(part.shape, data.shape);
    const to = isWhole ? whole : lowering.scratch(sizeOf(part.shape) * bytesOf(data.dtype));
    if (!isWhole) copyElements(lowering, part, elementsOf(whole, data), elementsOf(to, part));
    const arrays = [lowering.at(positions), lowering.at(updates), to];
    const args = [...arrays, refusalOf(lowering, data, axis), along(part, positions, axis)];
    launchElements(lowering, kernels[data.dtype].writeElements, sizeOf(positions.shape), args);
    if (!isWhole) copyElements(lowering, part, elementsOf(to, part), elementsOf(whole, data));
  },
  OneHot: ({ inputs: [classes], outputs: [result], attributes: { depth, value } }, lowering) => {
    const args = [lowering.at(classes), lowering.at(result), float32(value), int64(depth)];
    launchElements(lowering, oneHot.oneHot, sizeOf(result.shape), args);
  },
};

/** Elements that are compared with positions before lists of updates are faster. */
const mostCompared = 2 ** 26;

/** Adds the commands that add updates to zeros at positions along an axis of the result, in their order. */
export function addElements(
  lowering: Lowering,
  positions: Pick<Value, 'shape'>,
  result: Pick<Value, 'shape' | 'dtype'>,
  axis: number,
  at: GpuAddress,
  updates: GpuAddress,
  to: GpuAddress,
): void {
  const [count, size] = [sizeOf(positions.shape), sizeOf(result.shape)];
  if (size === 0) return;
  const { addByScan, linkUpdates, addByLists } = kernels[result.dtype];
  const refused = refusalOf(lowering, result, axis);
  const around = along(result, positions, axis);
  if (size * positions.shape[axis] <= mostCompared) {
    launchElements(lowering, addByScan, size, [at, updates, to, refused, around]);
    return;
  }
  const links = lowering.scratch(4 * (count + size));
  lowering.add({ kind: 'fill', name: 'noUpdates', at: links, bytes: 4 * size, value: 0xff });
  launchElements(lowering, linkUpdates, count, [at, links, refused, around, int64(size)]);
  launchElements(lowering, addByLists, size, [updates, links, to]);
}

/** The part of an array that positions may select: they may have fewer rows than the array in other axes. */
function partFor({ dtype, shape }: Value, positions: Value, axis: number): Pick<Value, 'dtype' | 'shape'> {
  return { dtype, shape: positions.shape.with(axis, shape[axis]) };
}

function elementsOf(at: GpuAddress, { shape }: Pick<Value, 'shape'>): Elements {
  return { at, first: 0, strides: stridesOf(shape) };
}

/** The struct Along of an array and of positions in it. */
function along(data: Pick<Value, 'shape'>, positions: Pick<Value, 'shape'>, axis: number) {
  const numbers = [data.shape[axis], positions.shape[axis], sizeOf(data.shape.slice(axis + 1))];
  return { bytes: new Uint8Array(BigInt64Array.from(numbers, BigInt).buffer) };
}

function refusalOf(lowering: Lowering, { shape }: Pick<Value, 'shape'>, axis: number): GpuAddress {
  const size = shape[axis];
  return lowering.refusal((found) => {
    const { place, got } = refusedElement(found);
    return `expected positions from ${-size} to ${size - 1}, got ${got} at index ${place}`;
  });
}
