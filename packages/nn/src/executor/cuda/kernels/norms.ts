import type { GpuAddress } from '@ringrun/native';
import type { Node, Value } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import type { Kernel, Lowering, LoweringFamily } from '../lowering.ts';
import { int32, int64, kernelsIn, launchBlock, nullPointer } from './launches.ts';
import { sourceOf } from './prelude.ts';

/** Arrays of one launch: a kernel has 4,096 bytes of parameters. */
const arraysOfLaunch = 96;

/** Elements of a part, as on the CPU (native/src/operators/joint_norm.h). */
const partElements = 2 ** 15;

/**
 * Norms of several arrays together, in double precision: parts of the arrays by a block each, then the parts in order. The kind of a
 * norm: 0 for p = ∞, 1, 2, and 3 for another p.
 */
const source = sourceOf(`
struct Arrays {
  const float* at[${arraysOfLaunch}];
};
struct Parts {
  int64 elements[${arraysOfLaunch}], target[${arraysOfLaunch}];
  // The first block of each array.
  int first[${arraysOfLaunch}], count;
};

__device__ __forceinline__ double termOf(float x, int kind, double p) {
  const double magnitude = fabs(static_cast<double>(x));
  return kind == 2 ? magnitude * magnitude : kind == 1 ? magnitude : pow(magnitude, p);
}

extern "C" __global__ void __launch_bounds__(256) normsOfParts(const __grid_constant__ Arrays arrays, const __grid_constant__ Parts parts, double* results,
                                                               int kind, double p) {
  int low = 0;
  for (int high = parts.count; high - low > 1;) {
    const int middle = (low + high) / 2;
    if (parts.first[middle] <= static_cast<int>(blockIdx.x)) low = middle;
    else high = middle;
  }
  const int64 part = static_cast<int>(blockIdx.x) - parts.first[low];
  const float* const from = arrays.at[low] + part * ${partElements};
  const int count = static_cast<int>(min(parts.elements[low] - part * ${partElements}, static_cast<int64>(${partElements})));
  double* const to = results + parts.target[low] + part;
  if (kind == 0) {
    // Magnitudes have the order of their bits, with NaN above infinity.
    unsigned largest = 0;
    for (int i = threadIdx.x; i < count; i += 256) largest = max(largest, __float_as_uint(from[i]) & 0x7fffffffu);
    largest = combined<256, Largest>(largest);
    if (threadIdx.x == 0) *to = static_cast<double>(__uint_as_float(largest));
    return;
  }
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += 256) sum += termOf(from[i], kind, p);
  sum = combined<256, Sum>(sum);
  if (threadIdx.x == 0) *to = sum;
}

// Combines the results of parts of all ranks, of which one has each part and the others 0. The factor scales arrays to the largest
// norm, at most 1; NaN stays NaN.
extern "C" __global__ void __launch_bounds__(256) clipFactor(const float* largest, const double* results, float* norm, float* factor,
                                                             unsigned long long* refused, int64 count, int ranks, int kind, double p) {
  double total = 0;
  for (int64 part = threadIdx.x; part < count; part += 256) {
    double result = 0;
    for (int rank = 0; rank < ranks; ++rank) result += results[rank * count + part];
    if (kind != 0) total += result;
    else if (!(isnan(total) || total > result)) total = result;
  }
  if (kind == 0) {
    // As bits, because they order NaN.
    total = __longlong_as_double(combined<256, Largest>(__double_as_longlong(total)));
  } else {
    total = combined<256, Sum>(total);
  }
  if (threadIdx.x != 0) return;
  const double all = kind == 2 ? sqrt(total) : kind == 3 ? pow(total, 1 / p) : total;
  *norm = static_cast<float>(all);
  const float scale = static_cast<float>(static_cast<double>(*largest) / (all + 1e-6));
  *factor = scale > 1.0f ? 1.0f : scale;
  if (refused != nullptr && !isfinite(all)) *refused = isnan(all) ? 1 : 2;
}
`);

const kernels = kernelsIn('norms.cu', source, ['normsOfParts', 'clipFactor']);

export const normKernels: readonly Kernel[] = Object.values(kernels);

export const norms: LoweringFamily<'ClipNorm' | 'NormParts' | 'ClipNormOfParts'> = {
  ClipNorm: (node, lowering) => {
    const [, ...arrays] = node.inputs;
    const targets: number[] = [];
    let parts = 0;
    for (const array of arrays) {
      targets.push(parts);
      parts += partsOf(array);
    }
    const results = lowering.scratch(8 * Math.max(1, parts));
    addParts(lowering, arrays, targets, results, node.attributes.normType);
    addFactor(lowering, node, results, parts, 1);
  },
  NormParts: ({ inputs, outputs: [results], attributes: { normType, parts, total } }, lowering) => {
    const to = lowering.at(results);
    if (total > 0) lowering.add({ kind: 'fill', name: 'normParts', at: to, bytes: 8 * total });
    addParts(lowering, inputs, parts, to, normType);
  },
  ClipNormOfParts: (node, lowering) => {
    const [, gathered] = node.inputs;
    const [ranks, numbers] = gathered.shape;
    addFactor(lowering, node, lowering.at(gathered), numbers / 2, ranks);
  },
};

const partsOf = ({ shape }: Value): number => Math.ceil(sizeOf(shape) / partElements);

/** Adds the launches that compute the result of each part. `targets`: the number of each array's first part. */
function addParts(
  lowering: Lowering,
  arrays: readonly Value[],
  targets: readonly number[],
  results: GpuAddress,
  normType: number,
): void {
  for (let begin = 0; begin < arrays.length; begin += arraysOfLaunch) {
    const some = arrays.slice(begin, begin + arraysOfLaunch);
    const firsts: number[] = [];
    let blocks = 0;
    for (const array of some) {
      firsts.push(blocks);
      blocks += partsOf(array);
    }
    if (blocks === 0) continue;
    const addresses = padded(
      some.map((array) => lowering.at(array)),
      lowering.at(some[0]),
    );
    const elements = some.map(({ shape }) => sizeOf(shape));
    const longs = [...padded(elements, 0), ...padded(targets.slice(begin, begin + some.length), 0)];
    const ints = Int32Array.of(...padded(firsts, blocks), some.length);
    const bytes = new Uint8Array(8 * Math.ceil((8 * longs.length + ints.byteLength) / 8));
    bytes.set(new Uint8Array(BigInt64Array.from(longs, BigInt).buffer));
    bytes.set(new Uint8Array(ints.buffer), 8 * longs.length);
    const args = [{ addresses }, { bytes }, results, int32(kindOf(normType)), { float64: normType }];
    lowering.launch(kernels.normsOfParts, [blocks, 1, 1], [256, 1, 1], args);
  }
}

function padded<T>(values: readonly T[], rest: T): T[] {
  return Array.from({ length: arraysOfLaunch }, (_, index) => (index < values.length ? values[index] : rest));
}

function addFactor(
  lowering: Lowering,
  {
    inputs: [largest],
    outputs,
    attributes: { normType, requiresFinite },
  }: Node<'ClipNorm' | 'ClipNormOfParts'>,
  results: GpuAddress,
  parts: number,
  ranks: number,
): void {
  const refused = requiresFinite
    ? lowering.refusal((found) => `expected a finite norm, got ${found === 1n ? 'nan' : 'inf'}`)
    : nullPointer;
  const arrays = [lowering.at(largest), results, ...outputs.map((output) => lowering.at(output)), refused];
  const numbers = [int64(parts), int32(ranks), int32(kindOf(normType)), { float64: normType }];
  launchBlock(lowering, kernels.clipFactor, 256, [...arrays, ...numbers]);
}

function kindOf(normType: number): number {
  if (normType === Infinity) return 0;
  return normType === 1 || normType === 2 ? normType : 3;
}
