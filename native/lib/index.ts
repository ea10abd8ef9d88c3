import { loadBinding } from './load.ts';

export { buildNative } from './compile.ts';
export { NativeUnavailableError } from './load.ts';

/** Numbers of the element types in native/src/base/operation.h. */
export const nativeDType = {
  float32: 1,
  float64: 2,
  int8: 3,
  uint8: 4,
  int32: 5,
  uint32: 6,
  int64: 7,
  uint64: 8,
  float16: 9,
  bfloat16: 10,
} as const;

/**
 * The typed arrays that hold elements of the dtypes. Every function that takes one takes the dtype's number too, since bit
 * patterns of float16 and of bfloat16 lie in arrays of one class; a TypeError refuses an array whose elements have another size.
 */
export type NativeTensor =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Uint16Array
  | NativeFloat16Array;

/** Elements on a GPU: `length` of them, `byteOffset` bytes behind the beginning of `deviceMemory`. For groups that have joined NCCL only. */
export interface NativeDeviceTensor {
  readonly deviceMemory: NativeDeviceMemory;
  readonly byteOffset: number;
  readonly length: number;
}

/** What operations of a group take. */
export type NativePlacedTensor = NativeTensor | NativeDeviceTensor;

/** Memory on a GPU. */
export interface NativeDeviceMemory {
  /** The CUdeviceptr, which only the GPU may use. */
  readonly address: bigint;
  /** 0 once it is freed. */
  readonly bytes: number;
  /** Gives back what was allocated; waits for the GPU. What belongs to somebody else is only forgotten. Garbage collection does the same. */
  free(): void;
}

/** A library that is opened at run time. */
export interface NativeLibraryDescription {
  /** Where it was loaded from; empty when it was not. */
  path: string;
  /** `12.4` of the driver: the newest CUDA that it runs. `2.21.5` of NCCL. Empty when unknown. */
  version: string;
  /** Why it cannot be used; empty when it can. */
  problem: string;
  /** Where it was looked for, in this order, and why it was not taken from there; the reason of the place that it was taken from is empty. */
  attempts: { place: string; reason: string }[];
}

/** What a group of the backend nccl finds on this machine. */
export interface NcclDescription {
  cuda: NativeLibraryDescription;
  nccl: NativeLibraryDescription;
  /** GPUs that CUDA_VISIBLE_DEVICES lets this process see, by index. */
  devices: { index: number; name: string; uuid: string; pciBusId: string; memoryBytes: number }[];
}

/** The language's own Float16Array, from Node 24 on: as much of it as is needed to tell and to divide it, for compilers that do not know it yet. */
export interface NativeFloat16Array extends ArrayBufferView {
  readonly [Symbol.toStringTag]: 'Float16Array';
  readonly length: number;
  subarray(begin?: number, end?: number): NativeFloat16Array;
}

/** Numbers of the reductions in native/src/base/operation.h. */
export const nativeReduceOp = {
  SUM: 1,
  AVG: 2,
  PRODUCT: 3,
  MIN: 4,
  MAX: 5,
  BAND: 6,
  BOR: 7,
  BXOR: 8,
} as const;

/** Numbers of the movements of data in native/src/base/operation.h. */
export const nativeExchange = { allGather: 9, gather: 10, scatter: 11, allToAll: 12 } as const;

/** What a rank says about where it listens. */
export interface NativeListening {
  /** Abstract Unix socket for ranks of this host, without its leading zero byte; empty: see `sharedMemoryProblem`. */
  socketName: string;
  /** Why this process cannot share memory with others; empty when it can. */
  sharedMemoryProblem: string;
  /** TCP port, chosen by the system, at the address given to `listen`. */
  port: number;
  /** 32 hexadecimal digits that a connection has to show. */
  token: string;
}

/** Where to reach a rank. */
export interface NativeEndpoint {
  /** Equal exactly on ranks that are to share memory; others are reached over TCP. */
  host: number;
  /** What lines on stderr call the rank: `rank 1 (host node1, pid 4711)`. */
  name: string;
  socketName: string;
  /** Numeric IPv4 or IPv6. */
  address: string;
  port: number;
  token: string;
}

/** The error of every operation of a `NativeProcessGroup`. */
export interface NativeFailure extends Error {
  code: 'PEER_DIED' | 'TIMEOUT' | 'MISMATCH' | 'SYSTEM' | 'CLOSED';
  /** What this rank was doing, such as `allReduce #41 (float32, 1,048,576 elements, SUM)`. */
  operation: string;
  /** How long that was allowed to take. */
  timeoutMs: number;
  /**
   * Who died; who was missing; or both sides of a mismatch. `seenIn`: the operation in which that rank was seen last.
   * Empty when the cause is this process itself.
   */
  ranks: { rank: number; seenIn?: string }[];
}

/**
 * One rank's end of a group. Arguments are taken as they are: whoever calls checks them first.
 *
 * Promises of collectives are settled in the order of the calls; all promises keep the process alive while they are pending. One native thread runs the
 * operations of all groups of the process; the collectives of one group run one after the other, those of different groups and messages between two
 * ranks do not wait for each other. Functions that end in `Sync` run on the calling thread, after everything issued before on this group. Timeouts
 * are in milliseconds and count from when the operation's turn comes. Every failure is a `NativeFailure`; after the first one, every operation
 * fails with that one.
 */
export interface NativeProcessGroup {
  /** Opens what the others connect to; `address` is one of this host's, numeric. */
  listen(address: string): NativeListening;
  /**
   * Meets the others; `endpoints[rank]` says where each listens. A group of one needs no `listen` and opens nothing. `algorithm`: one of
   * `algorithmNames` for every operation that has it, the same on all ranks, or '' for what suits each. An operation that waits for
   * `reportAfterMs`, forming the group included, writes a line on stderr that names the missing ranks; 0: never.
   */
  connect(
    endpoints: NativeEndpoint[],
    algorithm: string,
    timeoutMs: number,
    reportAfterMs: number,
  ): Promise<void>;
  /** Blocks until every collective issued on this group is over; promises settle later, on the event loop. No collective. */
  settleSync(): void;
  /** Zeroed memory of `length` elements that the transport reduces in place; a collective. Detached by `destroy`. */
  allocateSync(dtype: number, length: number, timeoutMs: number): ArrayBuffer;
  allReduce(tensor: NativePlacedTensor, dtype: number, reduceOp: number, timeoutMs: number): Promise<void>;
  allReduceSync(tensor: NativePlacedTensor, dtype: number, reduceOp: number, timeoutMs: number): void;
  /** Each of the tensors, which are of one dtype; any where there are none. */
  allReduceCoalesced(
    tensors: NativePlacedTensor[],
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
  ): Promise<void>;
  allReduceCoalescedSync(
    tensors: NativePlacedTensor[],
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
  ): void;
  broadcast(tensor: NativePlacedTensor, dtype: number, root: number, timeoutMs: number): Promise<void>;
  broadcastSync(tensor: NativePlacedTensor, dtype: number, root: number, timeoutMs: number): void;
  /** Everybody's values, reduced, in the tensor of `root`; the others' stay as they are. */
  reduce(
    tensor: NativePlacedTensor,
    dtype: number,
    reduceOp: number,
    root: number,
    timeoutMs: number,
  ): Promise<void>;
  reduceSync(
    tensor: NativePlacedTensor,
    dtype: number,
    reduceOp: number,
    root: number,
    timeoutMs: number,
  ): void;
  /** `output` becomes the reduction of everybody's `inputs[rank]`; ranks may have different lengths. */
  reduceScatter(
    output: NativePlacedTensor,
    inputs: NativePlacedTensor[],
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
  ): Promise<void>;
  reduceScatterSync(
    output: NativePlacedTensor,
    inputs: NativePlacedTensor[],
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
  ): void;
  /**
   * What rank a has in `gives[b]` lands in `takes[a]` of rank b: one for each rank, `null` for nothing. `op`: one of `nativeExchange`; says
   * who has something to give. `root`: of gather and scatter, else 0. `onDevice`: whether the arrays lie on a GPU.
   */
  exchange(
    op: number,
    gives: (NativePlacedTensor | null)[],
    takes: (NativePlacedTensor | null)[],
    dtype: number,
    root: number,
    onDevice: boolean,
    timeoutMs: number,
  ): Promise<void>;
  exchangeSync(
    op: number,
    gives: (NativePlacedTensor | null)[],
    takes: (NativePlacedTensor | null)[],
    dtype: number,
    root: number,
    onDevice: boolean,
    timeoutMs: number,
  ): void;
  /** `monitored`: the same under the name of monitoredBarrier. */
  barrier(monitored: boolean, timeoutMs: number): Promise<void>;
  barrierSync(monitored: boolean, timeoutMs: number): void;
  /**
   * A message to rank `to`, outside of the order of the collectives; settled when the tensor may be used again. Messages of one sender with one
   * tag are received in the order of the calls.
   */
  send(tensor: NativePlacedTensor, dtype: number, to: number, tag: number, timeoutMs: number): Promise<void>;
  sendSync(tensor: NativePlacedTensor, dtype: number, to: number, tag: number, timeoutMs: number): void;
  /** A message with this tag from rank `from`, or from whoever sends first (−1). Gives the sender. */
  receive(
    tensor: NativePlacedTensor,
    dtype: number,
    from: number,
    tag: number,
    timeoutMs: number,
  ): Promise<number>;
  receiveSync(
    tensor: NativePlacedTensor,
    dtype: number,
    from: number,
    tag: number,
    timeoutMs: number,
  ): number;
  /**
   * From now on collectives go through NCCL on a GPU, its index among those that this process sees. A collective of a connected group; `id`: 128 bytes
   * that one rank has from `ncclUniqueId`. What else the group has connected stays: ranks agree over it on every operation, and watch each other.
   */
  joinNccl(device: number, id: Uint8Array, timeoutMs: number): Promise<void>;
  /** As many elements as `host` has, in the order of the group's operations. */
  copyToDevice(
    tensor: NativeDeviceTensor,
    host: NativeTensor,
    dtype: number,
    timeoutMs: number,
  ): Promise<void>;
  copyToHost(tensor: NativeDeviceTensor, host: NativeTensor, dtype: number, timeoutMs: number): Promise<void>;
  /** A message from GPU to GPU, in the order of the group's operations on both ranks. */
  sendOnDevice(tensor: NativeDeviceTensor, dtype: number, to: number, timeoutMs: number): Promise<void>;
  receiveOnDevice(tensor: NativeDeviceTensor, dtype: number, from: number, timeoutMs: number): Promise<void>;
  /** What the group gives to its stream from here on begins when `stream` (a CUstream) has done what it has been given by then. */
  afterStream(stream: bigint, timeoutMs: number): Promise<void>;
  /** What `stream` is given after this has resolved begins when the group's stream has done what was called before this. */
  beforeStream(stream: bigint, timeoutMs: number): Promise<void>;
  /** Waits for every rank to come here, then releases everything. Releases too when that fails, or was never connected. */
  destroy(timeoutMs: number): Promise<void>;
}

/** Everything that the addon exports. */
export interface NativeBinding {
  ProcessGroup: new (rank: number, size: number) => NativeProcessGroup;
  /** Bytes on a GPU: `address` says where, for memory that somebody else has allocated, and frees after this object. */
  DeviceMemory: new (device: number, bytes: number, address?: bigint) => NativeDeviceMemory;
  /** Opens the CUDA driver and NCCL, and says what is there; creates nothing on a GPU. */
  describeNccl(): NcclDescription;
  /** Bytes per second of the driver's own copies of `bytes` between page-locked memory and a GPU. Blocks meanwhile. */
  measureCopies(device: number, bytes: number, rounds: number): { toDevice: number; toHost: number };
  /** 128 bytes by which the ranks of a communicator find each other: the process that has asked for them answers the others. */
  ncclUniqueId(): Uint8Array;
  /** Processors that this process may keep busy: its affinity mask and its cgroup's quota. */
  usableCpus(): number;
  /** Sets of reduction kernels that this processor can run, fastest first; the last one is plain C++. */
  kernelNames(): string[];
  /**
   * `outputs[*][i] = inputs[0][i] ∘ inputs[1][i] ∘ …` by the kernel of that name; arrays of one dtype and length. A sum of floating-point
   * numbers is divided by `divisor`, which is 1 everywhere else. float16 and bfloat16 are reduced in float32 and rounded once.
   */
  reduceWith(
    kernel: string,
    dtype: number,
    reduceOp: number,
    inputs: readonly NativeTensor[],
    outputs: readonly NativeTensor[],
    divisor: number,
  ): void;
  /** Elements of float16 or bfloat16, as `dtype` says, to float32 by the kernels of that name: as many as both arrays have. */
  widenWith(kernel: string, dtype: number, from: NativeTensor, to: Float32Array): void;
  /** And back, rounded to nearest, ties to even. */
  narrowWith(kernel: string, dtype: number, from: Float32Array, to: NativeTensor): void;
  /**
   * Values of images that lie one after the other in `pixels`, channel by channel and row by row. Each is looked up in its channel's table of 256 `values`, or is the channel's
   * value of `outside` where the view goes beyond the image.
   *
   * `from`: channels, height and width of an image. `views`: for each image that is wanted its index, top, left and step (1, or -1): pixel (x, y) is the image's
   * (left + x · step, top + y). `seen`: height and width of every view. The values of one view follow those of another in `target`, which they fill.
   */
  lookUpImages(
    pixels: Uint8Array,
    from: readonly [channels: number, height: number, width: number],
    values: Float32Array,
    outside: Float32Array,
    views: Int32Array,
    seen: readonly [height: number, width: number],
    target: Float32Array,
  ): void;
  /** Algorithms of collectives, by the names that `connect` takes (docs/algorithms.md). */
  algorithmNames(): string[];
  /**
   * The algorithm that an operation (its number in native/src/base/operation.h) uses. `bytes`: of each rank's array; where lengths differ,
   * the most that any rank takes. `forced`: as `connect` takes it.
   */
  chooseAlgorithm(
    op: number,
    medium: 'shm' | 'tcp' | 'loopback',
    dtype: number,
    bytes: number,
    ranks: number,
    forced: string,
  ): string;
  /**
   * Locks one byte of an open file for this descriptor alone; false when another, of this process or not, has it. The kernel gives it back when the file is
   * closed or the process ends. Throws an Error with `errno` where that fails, as on a file system without locks.
   */
  tryLockByte(fd: number, byte: number): boolean;
  unlockByte(fd: number, byte: number): void;
  /** Whether another descriptor has the byte. */
  isByteLockedElsewhere(fd: number, byte: number): boolean;
}

/**
 * The CUDA driver, the GPUs and the NCCL that a group of the backend nccl would use; or why it cannot. For `ringrun doctor`, and for errors.
 *
 * @throws NativeUnavailableError
 */
export function describeNccl(): NcclDescription {
  return loadNative().describeNccl();
}

let binding: NativeBinding | undefined;

/**
 * The addon, loaded (and, where there is no binary, compiled) by the first call.
 *
 * @throws NativeUnavailableError that lists everything tried, and what to install.
 */
export function loadNative(): NativeBinding {
  binding ??= loadBinding() as NativeBinding;
  return binding;
}
