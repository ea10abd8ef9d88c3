import type { GpuGroup } from '@ringrun/core';
import type {
  GpuCommand,
  NativeDeviceMemory,
  NativeGpuDevice,
  NativeGpuExchange,
  NativeGpuProgram,
} from '@ringrun/native';
import type { CollectiveGroup } from '../../graph/attributes.ts';
import type { DeviceCollectives, GradientBucket } from '../device-collectives.ts';
import { NnError } from '../../errors/errors.ts';
import { aligned } from './arena.ts';
import { allocateBytes, DeviceBuffer } from './device-buffer.ts';

/** A collective without the place of its command. */
export type Exchange = Omit<NativeGpuExchange, 'place'>;

/** The command that begins the collectives of a place. */
export function exchangeAt(place: number): GpuCommand {
  return { kind: 'exchange', name: `collective_${place}`, place };
}

export const join: GpuCommand = { kind: 'join', name: 'collectives' };

/** Gradients in one memory of a GPU, each aligned, and the numbers of the host behind them. */
export class CudaBucket implements GradientBucket {
  readonly buffers: readonly DeviceBuffer['value'][];
  readonly #device: NativeGpuDevice;
  readonly #memory: NativeDeviceMemory;
  readonly #tailOffset: number;
  readonly #bytes: number;
  /** What this rank contributes: the average is written over the tail. */
  readonly #ownTail: NativeDeviceMemory;
  #lastTail: Float32Array | undefined;

  constructor(device: NativeGpuDevice, lengths: readonly number[], tail: number) {
    this.#device = device;
    let end = 0;
    const offsets = lengths.map((length) => {
      const offset = end;
      end += aligned(4 * length);
      return offset;
    });
    this.#tailOffset = end;
    this.#bytes = end + 4 * tail;
    this.#memory = allocateBytes(device, this.#bytes);
    this.#ownTail = allocateBytes(device, 4 * tail);
    this.buffers = lengths.map(
      (length, index) => new DeviceBuffer(length, { memory: this.#memory, byteOffset: offsets[index] }).value,
    );
  }

  setTail(numbers: Float32Array): void {
    if (this.#lastTail?.every((number, index) => number === numbers[index])) return;
    this.#lastTail = numbers.slice();
    this.#device.upload(this.#lastTail, this.#ownTail).catch(() => undefined);
  }

  async readTail(numbers: Float32Array): Promise<void> {
    await this.#device.download(this.#memory, numbers, this.#tailOffset);
  }

  /** Call it before each average. */
  prepare(): void {
    const [bytes, toOffset] = [this.#bytes - this.#tailOffset, this.#tailOffset];
    this.#device.copyAll({ moves: [{ from: this.#ownTail, to: this.#memory, toOffset, bytes }] });
  }

  /** The collective that averages the bucket. */
  get exchange(): Exchange {
    const [send, receive] = [this.#memory, this.#memory];
    return { kind: 'average', count: this.#bytes / 4, send, sendOffset: 0, receive, receiveOffset: 0 };
  }
}

/** The buckets of a call. */
export function cudaBuckets(buckets: readonly GradientBucket[]): readonly CudaBucket[] {
  return buckets.map((bucket) => {
    if (bucket instanceof CudaBucket) return bucket;
    throw new NnError(
      'ERR_EXECUTOR',
      'run: expected buckets in the memory of the GPU, got one of another executor.',
    );
  });
}

/** Collectives on a GPU, with programs that contain nothing else. */
export class CudaCollectives implements DeviceCollectives {
  readonly #device: NativeGpuDevice;
  /** By the number of their collectives. */
  readonly #programs = new Map<number, NativeGpuProgram>();

  constructor(device: NativeGpuDevice) {
    this.#device = device;
  }

  groupOf(group: CollectiveGroup | GpuGroup): GpuGroup | undefined {
    const isOfDevice = group.runProgram !== undefined && group.device === this.#device.ordinal;
    return isOfDevice ? (group as GpuGroup) : undefined;
  }

  allocateBucket(lengths: readonly number[], tail: number): GradientBucket {
    return new CudaBucket(this.#device, lengths, tail);
  }

  async average(group: GpuGroup, buckets: readonly GradientBucket[]): Promise<void> {
    const own = cudaBuckets(buckets);
    for (const bucket of own) bucket.prepare();
    await this.run(
      group,
      own.map(({ exchange }) => exchange),
    );
  }

  /** Runs collectives after all earlier work of the device, as one operation of the group. */
  async run(group: GpuGroup, exchanges: readonly Exchange[]): Promise<void> {
    if (exchanges.length === 0) return;
    const program = this.#programs.get(exchanges.length) ?? this.#program(exchanges.length);
    await group.runProgram(
      program,
      exchanges.map((exchange, place) => ({ ...exchange, place })),
    );
  }

  #program(count: number): NativeGpuProgram {
    const commands = [...Array.from({ length: count }, (_, place) => exchangeAt(place)), join];
    const program = this.#device.createProgram({ name: 'collectives', arenaBytes: 0, slots: [], commands });
    this.#programs.set(count, program);
    return program;
  }
}
