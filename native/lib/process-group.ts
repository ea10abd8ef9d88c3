import type { NativeGpuExchange, NativeGpuProgram } from './gpu.ts';
import type { NativeDeviceTensor, NativeHostMemory, NativePlacedTensor, NativeTensor } from './tensors.ts';

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
  /** TCP port at the same address, at which the rank forwards connections between two others (docs/wire-format.md). */
  relayPort: number;
  /** 32 hexadecimal digits. Connections prove knowledge of them without sending them. */
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
  /** Default: the rank forwards no connections. */
  relayPort?: number;
  token: string;
}

/** An algorithm of an operation for arrays of up to `upToBytes`; the first one that fits applies. */
export interface NativeSizeRule {
  /** Of `nativeOp`. */
  op: number;
  /** Infinity: any size. */
  upToBytes: number;
  /** One of `algorithmNames` that the operation supports over TCP. */
  algorithm: string;
}

/** Links between hosts, row by row: from host a to host b at a × hosts + b. */
export interface NativeHostLinks {
  /** In seconds. */
  delay: Float64Array;
  /** In bytes per second; 0 if unknown. */
  bandwidth: Float64Array;
}

/**
 * The blocking form of each function, which returns the result of the asynchronous form's promise. It runs on the
 * calling thread.
 */
export type BlockingForms<Functions> = {
  [Name in keyof Functions & string as `${Name}Sync`]: Functions[Name] extends (
    ...operands: infer Operands
  ) => Promise<infer Result>
    ? (...operands: Operands) => Result
    : never;
};

/** The collectives of a group. */
export interface NativeCollectives {
  allReduce(tensor: NativePlacedTensor, dtype: number, reduceOp: number, timeoutMs: number): Promise<void>;
  /** Reduces each of the tensors, which have the same dtype. `dtype` is ignored for an empty list. */
  allReduceCoalesced(
    tensors: NativePlacedTensor[],
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
  ): Promise<void>;
  /**
   * All-reduces float32 elements that are sent in 8 or 4 bits (`bits`). `error`: as many elements, which are added to the
   * tensor's and receive what its roundings lost; see native/src/reduce/quantize.h.
   */
  allReduceQuantized(
    tensor: NativeTensor,
    error: NativeTensor | undefined,
    reduceOp: number,
    bits: number,
    timeoutMs: number,
  ): Promise<void>;
  broadcast(tensor: NativePlacedTensor, dtype: number, root: number, timeoutMs: number): Promise<void>;
  /** Reduces into the tensor of `root`; the tensors of other ranks are not changed. */
  reduce(
    tensor: NativePlacedTensor,
    dtype: number,
    reduceOp: number,
    root: number,
    timeoutMs: number,
  ): Promise<void>;
  /** Reduces all ranks' `inputs[rank]` into `output`; lengths may differ between ranks. */
  reduceScatter(
    output: NativePlacedTensor,
    inputs: NativePlacedTensor[],
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
  ): Promise<void>;
  /**
   * Sends rank a's `sends[b]` to rank b's `receives[a]`: one entry for each rank, `null` for none. `op`: allGather, gather,
   * scatter or allToAll of `nativeOp`, determines which ranks send. `root`: for gather and scatter, else 0. `onDevice`: true
   * if the arrays are on a GPU.
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
  /** `monitored`: named monitoredBarrier in reports and errors. */
  barrier(monitored: boolean, timeoutMs: number): Promise<void>;
}

/** The messages of a group between two ranks. */
export interface NativeMessages {
  /**
   * Sends a message to rank `to`, independent of the order of collectives; settles when the tensor may be reused.
   * Messages of one sender with the same tag are received in call order.
   */
  send(tensor: NativePlacedTensor, dtype: number, to: number, tag: number, timeoutMs: number): Promise<void>;
  /** Receives a message with this tag from rank `from`, or from any rank (−1). Returns the sender. */
  receive(
    tensor: NativePlacedTensor,
    dtype: number,
    from: number,
    tag: number,
    timeoutMs: number,
  ): Promise<number>;
}

/** A collective with fixed arguments that a running graph starts without JavaScript. Opaque. */
export interface NativePreparedOperation {
  readonly nativePreparedOperation: never;
}

/**
 * One rank's side of a group. Does not check arguments: callers must.
 *
 * Promises of collectives settle in call order; pending promises keep the process alive. One native thread runs the
 * operations of all groups of the process. The collectives of one group run one after another; different groups and
 * point-to-point messages do not wait for each other. Functions that end in `Sync` run on the calling thread, after the
 * operations issued before on this group. Timeouts are in milliseconds, from the start of the operation's turn. Every
 * failure is a `NativeFailure`; after the first one, every operation fails with it.
 */
export interface NativeProcessGroup
  extends NativeCollectives, BlockingForms<NativeCollectives>, NativeMessages, BlockingForms<NativeMessages> {
  /**
   * Listens for the other ranks. `address`: a numeric address of this host. `key`: 32 bytes, the same on all ranks;
   * both sides of a connection prove that they have it. Default: zeros. `encrypt`: encrypts TCP connections; the same
   * on all ranks.
   */
  listen(address: string, key?: Uint8Array, encrypt?: boolean): NativeListening;
  /**
   * Connects to the other ranks at `endpoints[rank]`. A group of one needs no `listen`. `algorithm`: one of
   * `algorithmNames`, used by every operation that supports it and the same on all ranks, or '' to choose for each
   * operation. After waiting for `reportAfterMs`, including while connecting, an operation logs a line to stderr that names the
   * missing ranks; 0: never. `silentPeerTimeoutMs`: time without any answer from a peer's host after which that peer
   * counts as dead. Default: 15 s.
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
   * null for this rank, whose memory the caller already has. Undefined unless this process has mapped the memory of all ranks.
   * Call it once for each array. `destroy` detaches the result. Not a collective.
   */
  slicesOfSync(tensor: NativeTensor, dtype: number, timeoutMs: number): (ArrayBuffer | null)[] | undefined;
  /**
   * Prepares an all-reduce of memory of `allocateSync`, which runs of a graph start (`NativeGraphCall`), any number
   * of times. The start determines its position in the order of the group's operations. `copy`, as much memory of
   * `allocateSync`, receives the elements before each all-reduce, even if the all-reduce fails.
   */
  prepareAllReduce(
    tensor: NativePlacedTensor,
    dtype: number,
    reduceOp: number,
    timeoutMs: number,
    copy?: NativePlacedTensor,
  ): NativePreparedOperation;
  /**
   * Prepares a collective on its own float32 memory, which runs of a graph start like `prepareAllReduce`: the sum
   * of the ranks' `input`, of `length` elements, in place; or the inputs of all ranks in `output`. `op`: `nativeOp.allReduce`, or
   * `nativeOp.allGather`.
   */
  prepareWithMemory(
    op: number,
    length: number,
    timeoutMs: number,
  ): { operation: NativePreparedOperation; input: Float32Array; output: Float32Array };
  /** Prepares a barrier, which runs of a graph start like `prepareAllReduce`. */
  prepareBarrier(monitored: boolean, timeoutMs: number): NativePreparedOperation;
  /** Settles when a started operation has ended; at once if it is not running. Undefined if it succeeded. */
  ended(operation: NativePreparedOperation): Promise<void> | undefined;
  /**
   * Measures the links between the group's hosts, in about a second. A collective. `table` receives three matrices of
   * hosts × hosts numbers, equal on all ranks, with 0 where nothing was measured: seconds from host a to host b (half of a round
   * trip); bytes per second from a to b while they exchange data with no other host; the same while all hosts exchange data
   * with several others.
   */
  measureLinks(table: Float64Array, timeoutMs: number): Promise<void>;
  /**
   * Uses this order of hosts in the rings and chains of later operations, and these algorithms instead of those of
   * `chooseAlgorithm`, unless `connect` was given one. Called between the same operations on all ranks, with the same
   * arguments. Not a collective. With `links`, ranks that cannot reach each other pass their data through the host over which
   * it takes the shortest time; otherwise through the nearest one.
   */
  followRoutes(
    hostOrder: readonly number[],
    rules: readonly NativeSizeRule[],
    timeoutMs: number,
    links?: NativeHostLinks,
  ): Promise<void>;
  /** A barrier named newGroup: settles when every rank is about to form another group. */
  newGroup(timeoutMs: number): Promise<void>;
  /**
   * Runs later collectives through NCCL on GPU `device` (index among the visible ones). A collective of a connected
   * group. `id`: 128 bytes that one rank obtains from `ncclUniqueId`. The group keeps its CPU connections, over which
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
  /**
   * Runs a program whose `exchange` commands are collectives of this group: one operation of the group, in which the ranks agree once on
   * all of them. As with `run` of the program, its first run is direct, the second records a graph, and later ones replay it: on all
   * ranks alike.
   *
   * @param exchanges In the order of their commands.
   */
  runProgram(
    program: NativeGpuProgram,
    exchanges: readonly NativeGpuExchange[],
    timeoutMs: number,
  ): Promise<void>;
  afterStream(stream: bigint, timeoutMs: number): Promise<void>;
  /** Makes work queued on `stream` after this resolves wait for the group's operations called before. */
  beforeStream(stream: bigint, timeoutMs: number): Promise<void>;
  /**
   * Waits until every rank calls it, then releases everything; releases everything even if that fails or the group is not
   * connected.
   */
  destroy(timeoutMs: number): Promise<void>;
}
