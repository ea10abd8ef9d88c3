import { loadBinding } from './load.ts';

export { buildNative } from './compile.ts';
export { NativeUnavailableError } from './load.ts';
export {
  findOnnxruntime,
  onnxruntimeVersion,
  type FoundOnnxruntime,
  type NoOnnxruntime,
} from './onnxruntime.ts';
export { homeFolder, userCache } from '../user-cache.js';
export { findZeromq } from './zeromq.ts';

/** Dtype numbers, as in native/src/base/operation.h. */
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
 * Typed arrays of the dtypes. Functions also need the dtype number, because float16 and bfloat16 share an array class
 * here. They throw a TypeError if the element size does not match.
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

/** `length` elements on a GPU, `byteOffset` bytes into `deviceMemory`. Only for groups that have joined NCCL. */
export interface NativeDeviceTensor {
  readonly deviceMemory: NativeDeviceMemory;
  readonly byteOffset: number;
  readonly length: number;
}

/** Memory that the ranks of a host share. */
export interface NativeHostMemory {
  readonly buffer: ArrayBuffer;
  /** Index of this rank among the ranks of its host, in the order of their ranks. */
  readonly place: number;
  /** Number of ranks of the host. */
  readonly ranks: number;
}

/** A tensor in host or GPU memory. */
export type NativePlacedTensor = NativeTensor | NativeDeviceTensor;

/** Memory on a GPU. */
export interface NativeDeviceMemory {
  /** The CUdeviceptr. Only the GPU can dereference it. */
  readonly address: bigint;
  /** Size in bytes; 0 after `free`. */
  readonly bytes: number;
  /** Frees the memory after waiting for the GPU, unless another library owns it. Garbage collection does the same. */
  free(): void;
}

/** An input or output of a model. */
export interface NativeOnnxSlot {
  readonly name: string;
  /** onnx.TensorProto.DataType. */
  readonly elementType: number;
  readonly elementBytes: number;
  readonly shape: readonly number[];
}

/** Options of a session of onnxruntime. */
export interface NativeOnnxOptions {
  /** Threads that compute one operator; 0: one per core. */
  readonly intraOpThreads: number;
  /**
   * Steps of nice(2) by which threads that compute give way to others, on Linux; 0: none. The first session of a JavaScript
   * thread decides. That thread then asks Linux (6.12 and later) for short slices, so that its timers are on time.
   */
  readonly computeNice: number;
  /** If true, fuses and removes operators. */
  readonly optimizes: boolean;
  /** Further settings by onnxruntime's names, such as `session.intra_op.allow_spinning`. */
  readonly entries: Readonly<Record<string, string>>;
}

/**
 * A model that onnxruntime compiles and runs on the CPU, on a compute thread that all sessions of a JavaScript thread
 * share. Its calls, and the runs of its bindings, run in order.
 */
export interface NativeOnnxSession {
  /**
   * Loads the library, unless it is loaded, and compiles the model. Rejects with the reason: of `code` `LIBRARY` if the
   * library cannot be used.
   */
  compile(model: Uint8Array): Promise<void>;
  /** `compile`, for which the calling thread waits. Throws like `runSync`, and the reason for which `compile` rejects. */
  compileSync(model: Uint8Array): void;
  /** Reports the end of a call of JavaScript. Does nothing if the run has ended. */
  endCall(run: number, call: number, succeeded: boolean): void;
  /** Frees the session's memory after earlier calls. Later runs are rejected. */
  release(): Promise<void>;
  /** Version of the loaded library, such as `1.30.0`. Empty before `compile`. */
  libraryVersion(): string;
}

/**
 * The arrays and calls of runs of a session, in place of onnxruntime's IoBinding. Arrays are read and written in place; each
 * has the byte length of its slot.
 */
export interface NativeOnnxBinding {
  /** Replaces an array, for the next runs. Slots are the inputs, then the outputs. */
  replace(slot: number, array: NativeTensor): void;
  /** What the graph's nodes call in the next runs, by their attribute `call` (native/src/onnxruntime/operators/calls.h). */
  setCalls(calls: readonly NativeGraphCall[]): void;
  /**
   * Computes the outputs. The arrays must stay allocated until the promise settles. If a call failed, the error has its
   * index as `failedCall`.
   *
   * @param onCall Called for each call of JavaScript that the graph starts. If the graph awaits it, `endCall` of the session
   * must follow. It must not throw.
   */
  run(onCall?: (call: number, run: number) => void): Promise<void>;
  /**
   * Computes the outputs on the calling thread, after earlier runs: it takes less time for a small graph, since no thread
   * wakes, and blocks the event loop. Throws if the graph has calls, or if a run with calls of JavaScript is pending, which
   * could not end.
   */
  runSync(): void;
  /**
   * Runs once with the arrays of the slots and then once for each element of `later`, whose arrays take the place of those of
   * `slots`. No call may be one of JavaScript. Behind it the slots have their own arrays.
   */
  runEach(slots: readonly number[], later: readonly (readonly NativeTensor[])[]): Promise<void>;
  /** Lets go of the arrays, whose memory the garbage collector otherwise frees turns later. No run may be pending or follow. */
  release(): void;
  /** Milliseconds for which the last run or runs waited for all calls, and for those that it started and awaited at once: collectives. */
  readonly waits: Float64Array;
}

/** A call of a running graph: operations that are started one after another, or JavaScript if there is no list. */
export interface NativeGraphCall {
  readonly operations?: readonly NativePreparedOperation[];
  /** Arrays that are filled before the call, and read after it. */
  readonly sends?: readonly Float32Array[];
  readonly receives?: readonly Float32Array[];
}

/** A collective with fixed arguments that a running graph starts without JavaScript. Opaque. */
export interface NativePreparedOperation {
  readonly nativePreparedOperation: never;
}

/** A library that is opened at run time. */
export interface NativeLibraryDescription {
  /** Path of the loaded library; empty if it was not loaded. */
  path: string;
  /**
   * Newest CUDA version that the driver supports, such as `12.4`, or NCCL's version, such as `2.21.5`. Empty if
   * unknown.
   */
  version: string;
  /** Reason why it cannot be used; empty if it can. */
  problem: string;
  /** Places tried, in order, with the reason why loading failed; the reason is empty for the place that worked. */
  attempts: { place: string; reason: string }[];
}

/** The driver, NCCL and GPUs that a group with backend nccl finds on this machine. */
export interface NcclDescription {
  cuda: NativeLibraryDescription;
  nccl: NativeLibraryDescription;
  /** GPUs that CUDA_VISIBLE_DEVICES lets this process see, by index. */
  devices: { index: number; name: string; uuid: string; pciBusId: string; memoryBytes: number }[];
}

/** The parts of JavaScript's own Float16Array (Node ≥ 24) that ringrun needs, for TypeScript versions without it. */
export interface NativeFloat16Array extends ArrayBufferView {
  readonly [Symbol.toStringTag]: 'Float16Array';
  readonly length: number;
  subarray(begin?: number, end?: number): NativeFloat16Array;
}

/** Reduction numbers, as in native/src/base/operation.h. */
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

/** Operation number of the all-reduce, as in native/src/base/operation.h. */
export const nativeAllReduce = 2;

/** Operation numbers of the exchanges, as in native/src/base/operation.h. */
export const nativeExchange = { allGather: 9, gather: 10, scatter: 11, allToAll: 12 } as const;

/** The address on which a rank listens. */
export interface NativeListening {
  /**
   * Abstract Unix socket for ranks of this host, without its leading zero byte; empty if `sharedMemoryProblem` is set.
   */
  socketName: string;
  /** Reason why this process cannot share memory with others; empty if it can. */
  sharedMemoryProblem: string;
  /** TCP port, chosen by the system, at the address given to `listen`. */
  port: number;
  /** 32 hexadecimal digits. Connections prove that they know them, and never send them. */
  token: string;
}

/** The address of a rank. */
export interface NativeEndpoint {
  /** Two ranks with the same number share memory; others are connected over TCP. */
  host: number;
  /** Name of the rank in log lines: `rank 1 (host node1, pid 4711)`. */
  name: string;
  /** Name of its host, for errors. */
  hostName?: string;
  socketName: string;
  /** Numeric IPv4 or IPv6. */
  address: string;
  port: number;
  token: string;
}

/** The error of every operation of a `NativeProcessGroup`. */
export interface NativeFailure extends Error {
  /** `UNTRUSTED`: a rank has another key. `ALTERED`: bytes on an encrypted connection were changed on the way. */
  code: 'PEER_DIED' | 'TIMEOUT' | 'MISMATCH' | 'SYSTEM' | 'CLOSED' | 'UNTRUSTED' | 'ALTERED';
  /** The operation that failed on this rank, such as `allReduce #41 (float32, 1,048,576 elements, SUM)`. */
  operation: string;
  /** Timeout of that operation. */
  timeoutMs: number;
  /**
   * The ranks that died, were missing, or disagreed. `seenIn`: the operation in which that rank was last seen.
   * Empty if this process itself is the cause.
   */
  ranks: { rank: number; seenIn?: string }[];
}

/**
 * One rank's side of a group. Does not check arguments: callers check them first.
 *
 * Promises of collectives settle in call order; pending promises keep the process alive. One native thread runs the
 * operations of all groups of the process. The collectives of one group run one after another; different groups and
 * point-to-point messages do not wait for each other. Functions that end in `Sync` run on the calling thread, after the
 * operations issued before on this group. Timeouts are in milliseconds, from the start of the operation's turn. Every
 * failure is a `NativeFailure`; after the first one, every operation fails with it.
 */
export interface NativeProcessGroup {
  /**
   * Listens for the other ranks. `address`: a numeric address of this host. `key`: 32 bytes, the same on all ranks;
   * both sides of a connection prove that they have it. Default: zeroes. `encrypt`: encrypts TCP connections; the same
   * on all ranks.
   */
  listen(address: string, key?: Uint8Array, encrypt?: boolean): NativeListening;
  /**
   * Connects to the other ranks at `endpoints[rank]`. A group of one needs no `listen`. `algorithm`: one of
   * `algorithmNames`, used by every operation that supports it and the same on all ranks, or '' to choose for each
   * operation. After `reportAfterMs` of waiting, connecting included, an operation logs a line to stderr that names the
   * missing ranks; 0: never. `silentPeerTimeoutMs`: time without any answer from a peer's host after which that peer
   * counts as dead; default: 15 s.
   */
  connect(
    endpoints: NativeEndpoint[],
    algorithm: string,
    timeoutMs: number,
    reportAfterMs: number,
    silentPeerTimeoutMs?: number,
  ): Promise<void>;
  /**
   * Blocks until all collectives issued on this group have completed; promises settle later, on the event loop. Not a
   * collective.
   */
  settleSync(): void;
  /**
   * Returns zeroed memory of `length` elements that the transport reduces in place. A collective. Detached by
   * `destroy`.
   */
  allocateSync(dtype: number, length: number, timeoutMs: number): ArrayBuffer;
  /**
   * Returns zeroed memory of `length` elements that all ranks of this host have mapped. A collective of all ranks. Not
   * detached by `destroy`. Only in groups with shared memory.
   */
  allocateForHostSync(dtype: number, length: number, timeoutMs: number): NativeHostMemory;
  /**
   * Returns the same elements in the memory of each rank, in the order of the ranks, of an array in memory of `allocateSync`:
   * null for this rank, whose memory is there already. Undefined unless this process has mapped the memory of all ranks.
   * Call it once for each array. `destroy` detaches the result. Not a collective.
   */
  slicesOfSync(tensor: NativeTensor, dtype: number, timeoutMs: number): (ArrayBuffer | null)[] | undefined;
  allReduce(tensor: NativePlacedTensor, dtype: number, reduceOp: number, timeoutMs: number): Promise<void>;
  allReduceSync(tensor: NativePlacedTensor, dtype: number, reduceOp: number, timeoutMs: number): void;
  /**
   * Prepares an all-reduce of memory of `allocateSync`, which the run of a graph starts (`NativeGraphCall`), any number
   * of times. The start determines its position in the order of the group's operations. `copy`, as much memory of
   * `allocateSync`, receives the elements before each all-reduce, also if the all-reduce fails.
   */
  prepareAllReduce(
    tensor: NativePlacedTensor,
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
    copy?: NativePlacedTensor,
  ): NativePreparedOperation;
  /**
   * Prepares a collective on float32 memory of its own, which the run of a graph starts like `prepareAllReduce`: the sum
   * of the ranks' `input`, of `length` elements, in place; or those of all ranks in `output`. `op`: `nativeAllReduce`, or
   * `nativeExchange.allGather`.
   */
  prepareWithMemory(
    op: number,
    length: number,
    timeoutMs: number,
  ): { operation: NativePreparedOperation; input: Float32Array; output: Float32Array };
  /** Prepares a barrier, which the run of a graph starts like `prepareAllReduce`. */
  prepareBarrier(monitored: boolean, timeoutMs: number): NativePreparedOperation;
  /** Settles when an operation that was started has ended; at once if it is not running. Undefined if it has succeeded. */
  ended(operation: NativePreparedOperation): Promise<void> | undefined;
  /** Reduces each of the tensors, which have the same dtype. `dtype` is ignored for an empty list. */
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
  /** Reduces into the tensor of `root`; the tensors of other ranks are not changed. */
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
  /** Reduces all ranks' `inputs[rank]` into `output`; lengths may differ between ranks. */
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
   * Sends rank a's `sends[b]` to rank b's `receives[a]`: one entry for each rank, `null` for none. `op`: one of
   * `nativeExchange`, determines which ranks send. `root`: for gather and scatter, else 0. `onDevice`: true if the
   * arrays are on a GPU.
   */
  exchange(
    op: number,
    sends: (NativePlacedTensor | null)[],
    receives: (NativePlacedTensor | null)[],
    dtype: number,
    root: number,
    onDevice: boolean,
    timeoutMs: number,
  ): Promise<void>;
  exchangeSync(
    op: number,
    sends: (NativePlacedTensor | null)[],
    receives: (NativePlacedTensor | null)[],
    dtype: number,
    root: number,
    onDevice: boolean,
    timeoutMs: number,
  ): void;
  /** `monitored`: named monitoredBarrier in reports and errors. */
  barrier(monitored: boolean, timeoutMs: number): Promise<void>;
  barrierSync(monitored: boolean, timeoutMs: number): void;
  /** A barrier named newGroup: settles when every rank is about to form a further group. */
  newGroup(timeoutMs: number): Promise<void>;
  /**
   * Sends a message to rank `to`, independent of the order of collectives; settles when the tensor may be reused.
   * Messages of one sender with the same tag are received in the order of the calls.
   */
  send(tensor: NativePlacedTensor, dtype: number, to: number, tag: number, timeoutMs: number): Promise<void>;
  sendSync(tensor: NativePlacedTensor, dtype: number, to: number, tag: number, timeoutMs: number): void;
  /** Receives a message with this tag from rank `from`, or from any rank (−1). Returns the sender. */
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
   * Runs later collectives through NCCL on GPU `device` (index among the visible ones). A collective of a connected
   * group. `id`: 128 bytes that one rank gets from `ncclUniqueId`. The group keeps its CPU connections, over which
   * ranks agree on every operation and monitor each other.
   */
  joinNccl(device: number, id: Uint8Array, timeoutMs: number): Promise<void>;
  /** Copies `host.length` elements, in the order of the group's operations. */
  copyToDevice(
    tensor: NativeDeviceTensor,
    host: NativeTensor,
    dtype: number,
    timeoutMs: number,
  ): Promise<void>;
  copyToHost(tensor: NativeDeviceTensor, host: NativeTensor, dtype: number, timeoutMs: number): Promise<void>;
  /** Sends a message from GPU to GPU, in the order of the group's operations on both ranks. */
  sendOnDevice(tensor: NativeDeviceTensor, dtype: number, to: number, timeoutMs: number): Promise<void>;
  receiveOnDevice(tensor: NativeDeviceTensor, dtype: number, from: number, timeoutMs: number): Promise<void>;
  /** Makes later work of the group's stream wait for the work queued so far on `stream` (a CUstream). */
  afterStream(stream: bigint, timeoutMs: number): Promise<void>;
  /** Makes work queued on `stream` after this resolves wait for the group's operations called before. */
  beforeStream(stream: bigint, timeoutMs: number): Promise<void>;
  /**
   * Waits until every rank calls it, then releases everything; also releases if that fails or the group is not
   * connected.
   */
  destroy(timeoutMs: number): Promise<void>;
}

/** The addon's exports. */
export interface NativeBinding {
  ProcessGroup: new (rank: number, size: number) => NativeProcessGroup;
  /** `libraryPath`: the file of libonnxruntime. */
  OnnxSession: new (
    libraryPath: string,
    inputs: readonly NativeOnnxSlot[],
    outputs: readonly NativeOnnxSlot[],
    options: NativeOnnxOptions,
  ) => NativeOnnxSession;
  OnnxBinding: new (
    session: NativeOnnxSession,
    inputs: readonly NativeTensor[],
    outputs: readonly NativeTensor[],
  ) => NativeOnnxBinding;
  /** `bytes` of GPU memory. `address`: wraps memory of another library, which must outlive this object. */
  DeviceMemory: new (device: number, bytes: number, address?: bigint) => NativeDeviceMemory;
  /** Opens the CUDA driver and NCCL and describes them; allocates nothing on a GPU. */
  describeNccl(): NcclDescription;
  /** Measures the driver's copies between page-locked memory and a GPU, in bytes per second. Blocks. */
  measureCopies(device: number, bytes: number, rounds: number): { toDevice: number; toHost: number };
  /** Returns the 128-byte id of a new communicator. The ranks connect to the process that called this. */
  ncclUniqueId(): Uint8Array;
  /** The operations of this process that have waited for longer than 100 ms. May be called by any thread. */
  longWaits(): string[];
  /**
   * Requests the JavaScript stack of a thread that waits in a synchronous operation, which answers within 100 ms, or
   * ends the request. Called by another thread.
   */
  requestStack(isWanted: boolean): void;
  /** The requested stack; undefined if no thread has answered. */
  takeStack(): string | undefined;
  /** Number of CPUs that this process may use, from its affinity mask and its cgroup quota. */
  usableCpus(): number;
  /** Names of the kernel sets that this processor supports, fastest first; the last one is plain C++. */
  kernelNames(): string[];
  /**
   * `outputs[*][i] = inputs[0][i] ∘ inputs[1][i] ∘ …` with the named kernel set; all arrays have the same dtype and
   * length. A floating-point sum is divided by `divisor`, which is 1 otherwise. float16 and bfloat16 are reduced in
   * float32 and rounded once.
   */
  reduceWith(
    kernel: string,
    dtype: number,
    reduceOp: number,
    inputs: readonly NativeTensor[],
    outputs: readonly NativeTensor[],
    divisor: number,
  ): void;
  /** Converts float16 or bfloat16 (`dtype`) to float32 with the named kernel set. Both arrays have the same length. */
  widenWith(kernel: string, dtype: number, from: NativeTensor, to: Float32Array): void;
  /** Converts float32 to float16 or bfloat16, rounded to nearest, ties to even. */
  narrowWith(kernel: string, dtype: number, from: Float32Array, to: NativeTensor): void;
  /**
   * Writes views of images to `target` as float32. `pixels` holds the images one after another, [image, channel, row,
   * column]. Each pixel is looked up in its channel's table of 256 `values`; pixels outside the image get the channel's
   * `outside` value.
   *
   * `from`: channels, height and width of an image. `views`: image index, top, left and step (1 or -1) for each view:
   * its pixel (x, y) is the image's (left + x · step, top + y). `seen`: height and width of a view. The views fill
   * `target`.
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
  /**
   * The p-norm of the elements of all arrays together, or the largest absolute element for `p` = Infinity, summed in
   * double precision.
   */
  jointNorm(arrays: readonly Float32Array[], p: number): number;
  /** Multiplies all elements, in place, by `factor` rounded to float32. */
  scaleArrays(arrays: readonly Float32Array[], factor: number): void;
  /** Clamps all elements, in place, to [−limit, limit] in float32. NaN stays. */
  clampArrays(arrays: readonly Float32Array[], limit: number): void;
  /** Names of the algorithms that `connect` accepts (docs/algorithms.md). */
  algorithmNames(): string[];
  /**
   * Returns the algorithm of an operation (its number in native/src/base/operation.h). `bytes`: size of each rank's
   * array, or the largest if they differ. `forced`: see `algorithm` of `connect`.
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
   * Locks one byte of an open file for this descriptor. Returns false if another descriptor, of any process, holds the
   * lock. The kernel releases it when the file is closed or the process exits. Throws an Error with `errno` if locking
   * fails, as on a file system without locks.
   */
  tryLockByte(fd: number, byte: number): boolean;
  unlockByte(fd: number, byte: number): void;
  /** Returns true if another descriptor holds the lock. */
  isByteLockedElsewhere(fd: number, byte: number): boolean;
  /**
   * Maps the first `bytes` of the open file `fd` as memory, copy-on-write: pages are read from the file on first
   * access, and writes change this process only. `fd` may be closed afterwards; the memory is unmapped when the buffer
   * is garbage-collected. `bytes` must not exceed the size of the file: access beyond its end, also after another
   * process has truncated it, ends the process with SIGBUS.
   */
  mapFile(fd: number, bytes: number): ArrayBuffer;
}

/**
 * Describes the CUDA driver, GPUs and NCCL library that a group with backend nccl would use, or why it cannot use them.
 * For `ringrun doctor` and error messages.
 *
 * @throws NativeUnavailableError
 */
export function describeNccl(): NcclDescription {
  return loadNative().describeNccl();
}

let binding: NativeBinding | undefined;

/**
 * Returns the addon. The first call loads it, and compiles it if there is no binary.
 *
 * @throws NativeUnavailableError that lists all attempts and what to install.
 */
export function loadNative(): NativeBinding {
  binding ??= loadBinding() as NativeBinding;
  return binding;
}
