import { expect } from 'vitest';
import { BFloat16Bits } from '@ringrun/core';
import type { GpuAddress, GpuCommand, NativeGpuDevice, NativeGpuModule } from '@ringrun/native';
import { fakeComputeLibraries } from '../../../../../../native/test/fake-gpu/libraries.ts';
import { fakeDevice } from '../../../../../../native/test/gpu/fake-device.ts';
import { inReverseOrder } from '../../../../../../native/test/gpu/reverse-order.ts';
import { refusalBytes, refusalIn } from '../../../../src/executor/cuda/kernels/refusals.ts';
import type { Lowering, LowerNode } from '../../../../src/executor/cuda/lowering.ts';
import type { Node, Value } from '../../../../src/graph/node.ts';
import type { OpName } from '../../../../src/graph/operators.ts';
import { sourceOfLeaf } from '../../../../src/graph/source-of-leaf.ts';
import { Tensor } from '../../../../src/index.ts';
import { sizeOf } from '../../../../src/value-type.ts';

type Elements = Float32Array | BigInt64Array | Uint8Array;

let device: NativeGpuDevice | undefined;
let environment: Record<string, string> | undefined;

/** One device for all files of tests of a process, which restores its environment between them. Libraries are opened when needed. */
function sharedDevice(): NativeGpuDevice {
  environment ??= fakeComputeLibraries();
  Object.assign(process.env, environment);
  device ??= fakeDevice();
  return device;
}

const modules = new Map<string, NativeGpuModule>();

/** Elements of a value, by the executor for CPUs. Those of bfloat16 are widened. */
export async function onCpu(value: Value): Promise<Elements> {
  const known = sourceOfLeaf(value)?.data;
  return known ?? new Tensor(value).array();
}

/**
 * The outputs of one node over the fake GPU, whose memory has arbitrary contents before. Inputs are computed on the CPU. Runs
 * twice, first directly and then as a graph with blocks and threads in the reverse order, and expects equal bits.
 *
 * @param unread indices of outputs that nothing reads
 */
export async function onGpu<Op extends OpName>(
  node: Node<Op>,
  lower: LowerNode<Op>,
  unread: readonly number[] = [],
): Promise<Elements[]> {
  const gpu = sharedDevice();
  const inputs = [...new Set(node.inputs)];
  const values: readonly Value[] = [...inputs, ...node.outputs];
  const slots = values.map((value) => Math.max(bytesOf(value), 1));
  const commands: GpuCommand[] = [];
  const cells: { readonly at: number; readonly describe: (found: bigint) => string | Error }[] = [];
  let arenaBytes = 256;
  const reserve = (bytes: number): { arena: number } => {
    const arena = arenaBytes;
    arenaBytes += Math.ceil(bytes / 256) * 256;
    return { arena };
  };
  const lowering: Lowering = {
    settings: { tf32: { products: false, convolutions: false }, benchmark: false },
    guard: () => undefined,
    at: (value): GpuAddress => {
      const slot = values.indexOf(value);
      expect(slot, 'the slot of a value of the node').toBeGreaterThanOrEqual(0);
      return { slot };
    },
    isRead: ({ index }) => !unread.includes(index),
    scratch: reserve,
    refusal: (describe) => {
      const cell = reserve(refusalBytes);
      cells.push({ at: cell.arena, describe });
      return cell;
    },
    launch: (kernel, grid, block, args, sharedBytes = 0) => {
      const key = kernel.source;
      const module = modules.get(key) ?? gpu.compileSync(kernel.source, kernel.file);
      modules.set(key, module);
      commands.push({
        ...{ kind: 'launch', name: kernel.name, module, kernel: kernel.name, grid, block, sharedBytes },
        arguments: args,
      });
    },
    add: (command) => {
      commands.push(command);
    },
    exchange: () => {
      throw new Error('One node communicates with no other rank.');
    },
  };
  lower(node, lowering);
  const program = gpu.createProgram({
    name: node.op,
    arenaBytes,
    slots: [...slots, refusalBytes * cells.length + 1],
    commands: [
      { kind: 'fill', name: 'arbitrary', at: { arena: 0 }, bytes: arenaBytes, value: 0xff },
      ...cells.map(({ at }): GpuCommand => ({
        kind: 'fill',
        name: 'zero',
        at: { arena: at },
        bytes: refusalBytes,
      })),
      ...commands,
      ...cells.map(({ at }, index): GpuCommand => {
        return { ...copyTo(values.length, refusalBytes * index), from: { arena: at } };
      }),
    ],
  });
  const memories = [...slots, refusalBytes * cells.length + 1].map((bytes) => gpu.allocate(bytes));
  for (const [slot, memory] of memories.entries()) program.bind(slot, memory);
  for (const [slot, input] of inputs.entries()) {
    const elements = inMemory(input, await onCpu(input));
    if (elements.length > 0) await gpu.upload(elements, memories[slot]);
  }
  const run = async (): Promise<Elements[]> => {
    for (const [k, output] of node.outputs.entries()) {
      const bytes = new Uint8Array(Math.max(bytesOf(output), 1)).fill(0xff);
      await gpu.upload(bytes, memories[inputs.length + k]);
    }
    await program.run();
    const found = node.outputs.map(({ dtype, shape }) => memoryOf(dtype, sizeOf(shape)));
    for (const [k, result] of found.entries()) {
      if (result.length > 0) await gpu.download(memories[inputs.length + k], result);
    }
    const results = found.map((one) => (one instanceof BFloat16Bits ? one.toFloat32() : one));
    const refused = new BigUint64Array((refusalBytes / 8) * cells.length);
    if (cells.length > 0) await gpu.download(memories[values.length], refused);
    for (const [k, { describe }] of cells.entries()) {
      const found = refusalIn(refused, k);
      if (found !== 0n) throw errorOf(describe(found));
    }
    return results;
  };
  try {
    const first = await run();
    const second = await inReverseOrder(run);
    expect(second.map(bitsOf), 'the second run, in reverse order').toEqual(first.map(bitsOf));
    return first;
  } finally {
    program.release();
    for (const memory of memories) memory.free();
  }
}

export interface Comparison {
  /** Largest difference, relative to the largest finite element of an output. 0: equal bits. Default: 2e-6. */
  readonly tolerance?: number;
  /** Indices of outputs that nothing reads. Default: none. */
  readonly unread?: readonly number[];
  /** If true, relative to the largest finite element of all outputs. Default: false. */
  readonly isJoint?: boolean;
  /** Has the expected outputs. Default: the node itself. */
  readonly reference?: Node;
}

/** Expects the outputs that the executor for CPUs computes. */
export async function expectAsOnCpu<Op extends OpName>(
  node: Node<Op>,
  lower: LowerNode<Op>,
  { tolerance = 2e-6, unread = [], isJoint = false, reference = node }: Comparison = {},
): Promise<void> {
  const found = await onGpu(node, lower, unread);
  const read = node.outputs.filter(({ index }) => !unread.includes(index));
  const expected = await Promise.all(read.map(async ({ index }) => await onCpu(reference.outputs[index])));
  const largest = Math.max(...expected.map(largestFinite));
  for (const [k, { index }] of read.entries()) {
    const scale = isJoint ? largest : largestFinite(expected[k]);
    expectElements(`${node.op}, output ${index}`, found[index], expected[k], tolerance * scale);
  }
}

function largestFinite(elements: Elements): number {
  if (!(elements instanceof Float32Array)) return 0;
  return elements.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);
}

/** @param most the largest difference of finite elements; 0: equal elements, in which NaN is equal to NaN */
function expectElements(what: string, found: Elements, expected: Elements, most: number): void {
  if (!(expected instanceof Float32Array) || most === 0) {
    expect([...found], what).toEqual([...expected]);
    return;
  }
  expect(found.length, what).toBe(expected.length);
  for (const [place, right] of expected.entries()) {
    const got = Number(found[place]);
    const isClose = Number.isFinite(right) ? Math.abs(got - right) <= most : Object.is(got, right);
    if (!isClose) {
      expect.fail(
        `${what}: element ${place} is ${got}, expected ${right}, with a difference of at most ${most}`,
      );
    }
  }
}

function copyTo(slot: number, byteOffset: number) {
  return { kind: 'copy', name: 'refusal', to: { slot, byteOffset }, bytes: refusalBytes } as const;
}

function bytesOf({ dtype, shape }: Value): number {
  return memoryOf(dtype, 0).BYTES_PER_ELEMENT * sizeOf(shape);
}

/** Elements as they are in the memory of a GPU. */
function inMemory({ dtype }: Value, elements: Elements): Elements | BFloat16Bits {
  return dtype === 'bfloat16' ? BFloat16Bits.fromFloat32(elements as Float32Array) : elements;
}

function memoryOf(dtype: Value['dtype'], count: number): Elements | BFloat16Bits {
  if (dtype === 'bfloat16') return new BFloat16Bits(count);
  if (dtype === 'int64') return new BigInt64Array(count);
  return dtype === 'bool' ? new Uint8Array(count) : new Float32Array(count);
}

function bitsOf({ buffer, byteOffset, byteLength }: Elements): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

function errorOf(described: string | Error): Error {
  return described instanceof Error ? described : new Error(described);
}
