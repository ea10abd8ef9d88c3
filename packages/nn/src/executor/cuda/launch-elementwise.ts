import { createHash } from 'node:crypto';
import type { GpuAddress } from '@ringrun/native';
import type { Node } from '../../graph/node.ts';
import { elementwiseProgram, type ArrayParameter, type ElementwiseProgram } from './elementwise.ts';
import { blockSize, blocksForElements, forElements, generated, guardOf, type Store } from './generated.ts';
import type { Kernel, Lowering } from './lowering.ts';

/** Computes groups of elementwise nodes: one launch for those whose programs are equal, whatever their numbers of elements. */
export function lowerElementwise(groups: readonly (readonly Node[])[], lowering: Lowering): void {
  const equal = new Map<string, GuardedProgram[]>();
  for (const nodes of groups) {
    // A group of a live unit may have no result that is read.
    if (!nodes.some(({ outputs }) => outputs.some((output) => lowering.isRead(output)))) continue;
    const program = guarded(elementwiseProgram(nodes, lowering), lowering);
    const key = textOf(program);
    const others = equal.get(key);
    if (others) others.push(program);
    else equal.set(key, [program]);
  }
  for (const programs of equal.values()) {
    if (programs.length === 1) launchOne(programs[0], lowering);
    else launchMany(programs, lowering);
  }
}

/** Writes nothing after a refusal. */
function guarded(program: ElementwiseProgram, lowering: Lowering): GuardedProgram {
  const guard = guardOf(lowering);
  if (guard === undefined) return program;
  return {
    ...program,
    parameters: [guard.parameter, ...program.parameters],
    addresses: [guard.address, ...program.addresses],
    guard: guard.line,
  };
}

/** A program, after a statement that ends a thread. */
type GuardedProgram = ElementwiseProgram & { readonly guard?: string };

/** Equal for programs that differ in their arrays only. */
export function textOf({ parameters, body, stores }: ElementwiseProgram): string {
  return [parametersText(parameters), body, ...storesOf(stores)].join('\n');
}

const storesOf = (stores: readonly Store[]): readonly string[] =>
  stores.map(({ target, name }) => `  ${target} = ${name};`);

const parametersText = (parameters: readonly ArrayParameter[]): string =>
  parameters.map(({ type, name }) => `${type} ${name}`).join(', ');

function launchOne(program: GuardedProgram, lowering: Lowering): void {
  const { count, parameters, addresses, guard = '', body, stores } = program;
  const text = `${guard}\n${forElements(count, body, stores)}`;
  const kernel = generated('elementwise', [parametersText(parameters)], text);
  lowering.launch(kernel, blocksForElements(count), [blockSize, 1, 1], addresses);
}

/** Bytes of a kernel's parameters on every GPU. */
const parameterBytes = 4096;

/** Alignment of a parameter. */
const parameterAlignment = 16;

/** Elements of a block. */
const elementsOfBlock = 8 * blockSize;

/** Launches an equal program of several arrays, in as few launches as the parameters of a kernel allow. */
function launchMany(programs: readonly GuardedProgram[], lowering: Lowering): void {
  const [first] = programs;
  // Such as a learning rate.
  const isShared = first.addresses.map((address, index) =>
    programs.every(({ addresses }) => isSamePlace(addresses[index], address)),
  );
  const shared = isShared.filter(Boolean).length;
  const arrays = isShared.length - shared;
  const free = parameterBytes - 8 * shared - 3 * parameterAlignment;
  const most = Math.floor(free / (8 * arrays + 8));
  const launches = Math.ceil(programs.length / most);
  // Launches of one kernel.
  const tensors = Math.ceil(programs.length / launches);
  const kernel = kernelOf(first, isShared, tensors);
  for (let begin = 0; begin < programs.length; begin += tensors) {
    launch(lowering, kernel, programs.slice(begin, begin + tensors), isShared, tensors);
  }
}

function isSamePlace(a: GpuAddress, b: GpuAddress): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function launch(
  lowering: Lowering,
  kernel: Kernel,
  programs: readonly ElementwiseProgram[],
  isShared: readonly boolean[],
  tensors: number,
): void {
  const sizes = new Uint32Array(2 * tensors + 1);
  let blocks = 0;
  for (const [index, { count }] of programs.entries()) {
    sizes[index] = count;
    sizes[tensors + index] = blocks;
    blocks += Math.ceil(count / elementsOfBlock);
  }
  sizes[2 * tensors] = programs.length;
  const all = Array.from({ length: tensors }, (_, index) => programs[index] ?? programs[0]);
  const addresses = all.flatMap((program) => program.addresses.filter((_, index) => !isShared[index]));
  const shared = programs[0].addresses.filter((_, index) => isShared[index]);
  const args = [...shared, { addresses }, { bytes: new Uint8Array(sizes.buffer) }];
  lowering.launch(kernel, [blocks, 1, 1], [blockSize, 1, 1], args);
}

function kernelOf(
  { parameters, guard = '', body, stores }: GuardedProgram,
  isShared: readonly boolean[],
  tensors: number,
): Kernel {
  const shared = parameters.filter((_, index) => isShared[index]);
  const own = parameters.filter((_, index) => !isShared[index]);
  const pointers = own.map(
    ({ type, name }, index) =>
      `  ${type} const ${name} = (${type})arrays.at[tensor * ${own.length}u + ${index}u];`,
  );
  const text = `
${guard}
  unsigned tensor = 0;
  for (unsigned after = sizes.tensors; after - tensor > 1;) {
    const unsigned middle = (tensor + after) / 2;
    if (sizes.firstBlock[middle] <= blockIdx.x) tensor = middle;
    else after = middle;
  }
${pointers.join('\n')}
  const unsigned begin = (blockIdx.x - sizes.firstBlock[tensor]) * ${elementsOfBlock}u;
  const unsigned end = min(begin + ${elementsOfBlock}u, sizes.elements[tensor]);
  for (unsigned i = begin + threadIdx.x; i < end; i += ${blockSize}u) {
${[body, ...storesOf(stores)].join('\n')}
  }
}
`;
  const hash = createHash('sha256')
    .update(JSON.stringify([parameters, isShared, tensors, text]))
    .digest('hex')
    .slice(0, 12);
  const name = `elementwiseOfMany_${hash}`;
  const list = [
    ...shared.map(({ type, name: parameter }) => `${type} ${parameter}`),
    `const __grid_constant__ ArraysOf_${hash} arrays`,
    `const __grid_constant__ SizesOf_${hash} sizes`,
  ];
  const source = `
struct ArraysOf_${hash} {
  void* at[${own.length * tensors}];
};
struct SizesOf_${hash} {
  unsigned elements[${tensors}], firstBlock[${tensors}], tensors;
};
extern "C" __global__ void __launch_bounds__(${blockSize}) ${name}(${list.join(', ')}) {${text}`;
  return { file: 'generated.cu', name, source, isGenerated: true };
}
