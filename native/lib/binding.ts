import type { GpuDescription, NativeGpuDevice } from './gpu.ts';
import type { NcclDescription } from './nccl.ts';
import type { NativeOnnxBinding, NativeOnnxOptions, NativeOnnxSession, NativeOnnxSlot } from './onnx.ts';
import type { NativeProcessGroup } from './process-group.ts';
import type { NativeDeviceMemory, NativeTensor } from './tensors.ts';

/** A TCP connection of this process. */
export interface OwnConnection {
  fd: number;
  /** Address and port of the other side. */
  peer: string;
  /** Bytes sent to the peer that it has acknowledged. */
  ackedBytes: number;
  /** Milliseconds since this side sent anything. */
  silentMs: number;
}

/** See native/src/base/launcher_watch.h. */
export interface NativeLauncherWatch {
  /** The descriptor of the pipe. */
  descriptor: number;
  /** The lines for stderr. */
  launcherEnded: string;
  leaseExpired: string;
  /** Removed when the launcher has ended. */
  folder?: string;
  /** Receives `record`, a JSON object, with the members `time` and `hostTime`, when a lease has ended. */
  recordFile?: string;
  record?: string;
}

/** Size of images of bytes or floats. */
export type NativeImageSize = readonly [channels: number, height: number, width: number];

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
  /**
   * Runs sessions of graphs without calls, one after another, without JavaScript in between.
   *
   * @param places for each session in order, those of its inputs and then of its outputs: the index of an array, or -1 minus an offset
   * in bytes from the start of `memory`
   */
  runOnnxChain(
    sessions: readonly NativeOnnxSession[],
    places: Float64Array,
    arrays: readonly NativeTensor[],
    memory: Uint8Array,
  ): Promise<void>;
  /** `runOnnxChain` on the calling thread, as `runSync` of a binding. */
  runOnnxChainSync(
    sessions: readonly NativeOnnxSession[],
    places: Float64Array,
    arrays: readonly NativeTensor[],
    memory: Uint8Array,
  ): void;
  /** `bytes` of GPU memory. `address`: wraps memory of another library, which must outlive this object. */
  DeviceMemory: new (device: number, bytes: number, address?: bigint) => NativeDeviceMemory;
  /** Opens the libraries that compute on a GPU and describes them; allocates nothing on a GPU. */
  describeGpu(): GpuDescription;
  /**
   * Compiles CUDA C++ with NVRTC without a GPU. `architecture`: 90 for sm_90. `options`: more options of NVRTC, such as
   * `--ptxas-options=-v`, which writes registers and spills of each kernel to the log. Blocks. Throws the log of a source that
   * does not compile.
   */
  compileCubin(
    source: string,
    name: string,
    architecture: number,
    options: readonly string[],
  ): { cubin: Uint8Array; log: string };
  /**
   * Opens a GPU. `ordinal`: among the GPUs visible to this process (CUDA_VISIBLE_DEVICES). Throws the `problem` of `describeGpu`
   * if there is one.
   */
  GpuDevice: new (ordinal: number) => NativeGpuDevice;
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
   * Rounds `values` / `divisor` + `error` to 8 or 4 bits with the named kernel set, and writes what that loses to `error`.
   * `packed`: blocks of 256 elements, of 260 or 132 bytes (native/src/reduce/quantize.h).
   */
  quantizeWith(
    kernel: string,
    bits: number,
    values: Float32Array,
    divisor: number,
    error: Float32Array | undefined,
    packed: Uint8Array,
  ): void;
  dequantizeWith(kernel: string, bits: number, packed: Uint8Array, values: Float32Array): void;
  /** Rounds the sum of the terms, of `count` elements, and adds what that loses to `error`. */
  combineQuantizedWith(
    kernel: string,
    bits: number,
    count: number,
    terms: readonly Uint8Array[],
    packed: Uint8Array,
    error: Float32Array | undefined,
  ): void;
  /**
   * Names of the instruction sets for products of matrices that this processor has, the fastest last (see `panels.h`). Only
   * `avx512-bf16` and `amx` multiply bfloat16; others convert it to float32.
   */
  productKernelNames(): string[];
  /**
   * `to` = `start` + `from`·matrix, with the named instruction set: `from` [rows, inner], the matrix in panels of 16 columns,
   * `start` and `to` [rows, columns]. A `from` of Uint16Array has bfloat16 elements, and `inner` is even.
   */
  multiplyPanelsWith(
    kernel: string,
    from: Float32Array | Uint16Array,
    panels: Float32Array | Uint16Array,
    start: Float32Array | undefined,
    to: Float32Array,
    rows: number,
  ): void;
  /**
   * Writes views of images to `target`, as float32 or as bytes. `pixels` holds the images one after another, [image,
   * channel, row, column]. Each pixel is looked up in its channel's table of 256 `values`; pixels outside the image
   * receive the channel's `outside` value.
   *
   * `from`: channels, height and width of an image. `views`: image index, top, left, and steps down and right (1 or -1)
   * for each view: its pixel (x, y) is the image's (left + x · right, top + y · down). `seen`: height and width of a
   * view. The views fill `target`.
   */
  lookUpImages<Values extends Float32Array | Uint8Array>(
    pixels: Uint8Array,
    from: NativeImageSize,
    values: Values,
    outside: Values,
    views: Int32Array,
    seen: readonly [height: number, width: number],
    target: Values,
  ): void;
  /**
   * Resizes parts of images bilinearly with antialiasing. `parts`: image index, top, left, height and width for each
   * part, which lies inside the image. `size`: height and width of a result. The results fill `target`.
   */
  resizeImages(
    pixels: Uint8Array,
    from: NativeImageSize,
    parts: Int32Array,
    size: readonly [height: number, width: number],
    target: Uint8Array,
  ): void;
  /**
   * Moves the pixels of images. `matrices`: image index, and a, b, c, d, e, f for each result: its pixel (x, y) shows the
   * image at (a x + b y + c, d x + e y + f), in pixels from the center. `fill`: a level for each channel, for pixels
   * outside the image. The results have the images' size and fill `target`.
   */
  warpImages(
    pixels: Uint8Array,
    from: NativeImageSize,
    matrices: Float64Array,
    isBilinear: boolean,
    fill: Float32Array,
    target: Uint8Array,
  ): void;
  /**
   * Changes the colours of images of 1 or 3 channels in place. `steps`: image index, operation (0 brightness, 1 contrast,
   * 2 saturation, 3 hue, 4 gray) and factor for each step.
   */
  adjustColors(images: Uint8Array, size: NativeImageSize, steps: Float64Array): void;
  /** Mixes each of `count` images with the one before it, in place: `lambda` · image + (1 − `lambda`) · the one before. */
  mixUpImages(images: Float32Array, count: number, lambda: number): void;
  /** Replaces columns [left, right) and rows [top, bottom) of each image by those of the one before it, in place. */
  cutMixImages(
    images: Float32Array,
    size: NativeImageSize,
    box: readonly [left: number, top: number, right: number, bottom: number],
  ): void;
  /**
   * The p-norm of the elements of all arrays together, or the largest absolute element for `p` = Infinity, summed in
   * double precision.
   */
  jointNorm(arrays: readonly Float32Array[], p: number): number;
  /** Multiplies all elements, in place, by `factor` rounded to float32. */
  scaleArrays(arrays: readonly Float32Array[], factor: number): void;
  /** Clamps all elements, in place, to [−limit, limit] in float32. NaN is kept. */
  clampArrays(arrays: readonly Float32Array[], limit: number): void;
  /**
   * Thin factors of a matrix M [rows, columns], for PowerSGD: M ≈ P·Qᵀ, with `p` [rows, rank] and `q` [columns, rank]. Bits
   * are the same on every processor. Writes `p` = M·Q. With `error`, of M's size: `error` += M, and `p` = `error`·Q.
   */
  leftFactor(
    matrix: Float32Array,
    error: Float32Array | undefined,
    q: Float32Array,
    p: Float32Array,
    rank: number,
  ): void;
  /** Writes `q` = Mᵀ·P. */
  rightFactor(matrix: Float32Array, p: Float32Array, q: Float32Array, rank: number): void;
  /** Writes `matrix` = P·Qᵀ. With `error`: `error` -= `matrix`. */
  productOfFactors(
    p: Float32Array,
    q: Float32Array,
    matrix: Float32Array,
    error: Float32Array | undefined,
    rank: number,
  ): void;
  /**
   * Orthonormalizes the columns of a factor [rows, rank], in place, from left to right. Columns that depend linearly on
   * earlier columns become 0. Returns their indices. NaN spreads to later columns.
   */
  orthonormalize(factor: Float32Array, rank: number): number[];
  /** `values` = `from` − `values`, in float32. */
  subtractFrom(values: Float32Array, from: Float32Array): void;
  /**
   * torch.optim.SGD.step of `parameters` in float32; `velocities` is undefined without a momentum. Bits are the same on
   * every processor.
   */
  outerStep(
    parameters: Float32Array,
    velocities: Float32Array | undefined,
    gradient: Float32Array,
    lr: number,
    momentum: number,
    nesterov: boolean,
  ): void;
  /** `values` = `share` · `values` + (1 − `share`) · `other`, in float32. */
  mix(values: Float32Array, other: Float32Array, share: number): void;
  /** Names of the algorithms that `connect` accepts (docs/algorithms.md). */
  algorithmNames(): string[];
  /**
   * Returns the algorithm of an operation (one of `nativeOp`). `bytes`: size of each rank's
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
   * The open TCP connections of this process whose local port is `port`, no matter which library has accepted them. Needs no
   * free descriptor after the first call. Empty on systems other than Linux.
   */
  ownConnectionsAt(port: number): OwnConnection[];
  /**
   * Shuts down the connection in both directions, so that its owner closes it. Returns false if `fd` is no longer the
   * connection to `peer`.
   */
  shutDownConnection(fd: number, peer: string): boolean;
  /**
   * Maps the first `bytes` of the open file `fd` as memory, copy-on-write: pages are read from the file on first
   * access, and writes change this process only. `fd` may be closed afterwards; the memory is unmapped when the buffer
   * is garbage-collected. `bytes` must not exceed the size of the file: access beyond its end, even after another
   * process has truncated it, ends the process with SIGBUS.
   */
  mapFile(fd: number, bytes: number): ArrayBuffer;
  /**
   * Starts a thread that kills the process group of this process when the other end of a pipe closes, or when the lease ends
   * that was read from it last. Once per process.
   */
  watchLauncher(watch: NativeLauncherWatch): void;
}
