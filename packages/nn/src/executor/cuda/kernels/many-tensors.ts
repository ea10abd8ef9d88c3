import type { GpuAddress } from '@ringrun/native';
import type { Kernel, Lowering } from '../lowering.ts';
import { sourceOf } from './prelude.ts';

/** One elementwise program for several tensors, such as an optimizer's update of all parameters. */
export interface ManyTensors {
  /** Name in errors and profiles: `adam`. */
  readonly name: string;
  /** Element types of the arrays of a tensor: `const float`, `float`. */
  readonly arrays: readonly string[];
  /** Statements that compute element `i` of the arrays `a0`, `a1`, …: `a1[i] = a0[i] * *a2;` */
  readonly body: string;
  readonly tensors: readonly TensorArrays[];
}

export interface TensorArrays {
  /** One for each of `arrays`. Several tensors may have the same, such as a learning rate. */
  readonly at: readonly GpuAddress[];
  /** Number of elements. */
  readonly count: number;
}

/** Bytes of a kernel's parameters. */
const parameterBytes = 4096;

/** Elements of a block. */
const blockElements = 2048;

/** Tensors of a launch: each has a pointer for each array, its number of elements, and its first block. */
export function tensorsOfLaunch(arrays: number): number {
  return Math.floor((parameterBytes - 16) / (8 * arrays + 12));
}

/** Launches the program for all tensors with elements, in as few launches as the parameters of a kernel allow. */
export function launchManyTensors(lowering: Lowering, given: ManyTensors): void {
  const kernel = kernelOf(given);
  const most = tensorsOfLaunch(given.arrays.length);
  const tensors = given.tensors.filter(({ count }) => count > 0);
  for (let begin = 0; begin < tensors.length; begin += most) {
    launch(lowering, kernel, tensors.slice(begin, begin + most), most);
  }
}

function launch(lowering: Lowering, kernel: Kernel, tensors: readonly TensorArrays[], most: number): void {
  const firsts: number[] = [];
  let blocks = 0;
  for (const { count } of tensors) {
    firsts.push(blocks);
    blocks += Math.ceil(count / blockElements);
  }
  const all = Array.from({ length: most }, (_, index) => tensors[index] ?? tensors[0]);
  const bytes = new Uint8Array(8 * Math.ceil((12 * most + 4) / 8));
  bytes.set(new Uint8Array(BigInt64Array.from(all, ({ count }) => BigInt(count)).buffer));
  bytes.set(new Uint8Array(Int32Array.of(...firsts).buffer), 8 * most);
  bytes.set(new Uint8Array(Int32Array.of(tensors.length).buffer), 12 * most);
  const addresses = tensors[0].at.map((_, array) => ({ addresses: all.map(({ at }) => at[array]) }));
  lowering.launch(kernel, [blocks, 1, 1], [256, 1, 1], [...addresses, { bytes }]);
}

function kernelOf({ name, arrays, body }: ManyTensors): Kernel {
  const most = tensorsOfLaunch(arrays.length);
  const structs = arrays.map((type, index) => `struct Array${index} {\n  ${type}* at[${most}];\n};`);
  const parameters = arrays.map((_, index) => `const __grid_constant__ Array${index} arrays${index}`);
  const pointers = arrays.map((type, index) => `  ${type}* const a${index} = arrays${index}.at[tensor];`);
  const source = sourceOf(`
${structs.join('\n')}
struct Tensors {
  int64 count[${most}];
  // The first block of each tensor.
  int first[${most}], tensors;
};

extern "C" __global__ void __launch_bounds__(256) ${name}(${parameters.join(', ')}, const __grid_constant__ Tensors tensors) {
  const int block = static_cast<int>(blockIdx.x);
  int tensor = 0;
  for (int end = tensors.tensors; end - tensor > 1;) {
    const int middle = (tensor + end) / 2;
    if (tensors.first[middle] <= block) tensor = middle;
    else end = middle;
  }
${pointers.join('\n')}
  const int64 begin = static_cast<int64>(block - tensors.first[tensor]) * ${blockElements};
  const int64 end = min(begin + ${blockElements}, tensors.count[tensor]);
  for (int64 i = begin + threadIdx.x; i < end; i += 256) {
    ${body}
  }
}
`);
  return { file: `${name}.cu`, name, source };
}
