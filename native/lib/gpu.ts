import type { NativeLibraryDescription } from './nccl.ts';
import type { NativeDeviceMemory, NativeTensor } from './tensors.ts';

/** The libraries that compute on a GPU. Each is opened at run time, by a search order (docs/gpu.md). */
export interface GpuDescription {
  /** The reason why this process cannot compute on a GPU; empty if it can. cuDNN may be missing. */
  readonly problem: string;
  /** The CUDA driver, 12.0 or later. */
  readonly cuda: NativeLibraryDescription;
  /** Compiles kernels, 12.0 or later. */
  readonly nvrtc: NativeLibraryDescription;
  /** Products of matrices, 12.0 or later. */
  readonly cublasLt: NativeLibraryDescription;
  /** Convolutions, 9.0 or later. Only programs with convolutions need it. */
  readonly cudnn: NativeLibraryDescription;
}

/**
 * One GPU, with a stream on which all uploads, runs and downloads of this object happen in the order of their calls.
 * Threads of the addon start the work and wait for it; the event loop does neither, except in functions named `…Sync`.
 *
 * After a CUDA error (such as an illegal address in a kernel) the GPU cannot be used by this process any more: every later call
 * throws that error.
 */
export interface NativeGpuDevice {
  readonly ordinal: number;
  /** `NVIDIA H100 80GB HBM3` */
  readonly name: string;
  /** Compute capability: [9, 0] is sm_90. */
  readonly capability: readonly [major: number, minor: number];
  /** Memory of the GPU, of all processes. */
  memory(): { readonly freeBytes: number; readonly totalBytes: number };

  /**
   * Compiles CUDA C++17 for this GPU with NVRTC, on a thread of its own. Kernels are declared `extern "C" __global__`. No header
   * can be included.
   *
   * @param name The file name in errors, such as `softmax.cu`.
   * @throws (rejects) NVRTC's log, each error with its source line.
   */
  compile(source: string, name: string): Promise<NativeGpuModule>;
  /** `compile` that blocks the calling thread. */
  compileSync(source: string, name: string): NativeGpuModule;

  /**
   * Allocates memory that is aligned to 256 bytes and has arbitrary contents. `free`, or garbage collection, gives it back to the
   * device, which uses it for later allocations of a similar size after all work that was enqueued before.
   *
   * @throws CUDA_ERROR_OUT_OF_MEMORY, with the bytes free.
   */
  allocate(bytes: number): NativeDeviceMemory;

  /**
   * Allocates memory for an array with at least one element, and copies its elements. They are read before this function returns. The
   * GPU copies beside the work of earlier calls, and before that of later ones, so batches arrive while steps compute. An error of the
   * copy is thrown by `synchronize`.
   *
   * @throws CUDA_ERROR_OUT_OF_MEMORY, with the bytes free.
   */
  allocateWith(from: NativeTensor): NativeDeviceMemory;
  /**
   * Copies the elements of an array to the GPU. They are read before this function returns, except from page-locked arrays,
   * which must not change until the promise resolves.
   */
  upload(from: NativeTensor, to: NativeDeviceMemory, byteOffset?: number): Promise<void>;
  /** Copies into an array, which must not be used until the promise resolves. */
  download(from: NativeDeviceMemory, to: NativeTensor, byteOffset?: number): Promise<void>;
  /** `download` that blocks the calling thread until earlier work has ended. */
  downloadSync(from: NativeDeviceMemory, to: NativeTensor, byteOffset?: number): void;
  /** The copies before a run, without one. `synchronize` reports an error. */
  copyAll(transfers: Pick<GpuTransfers, 'uploads' | 'moves'>): void;

  /** Resolves when all work of earlier calls has ended. Rejects with the first error of work whose call did not report it. */
  synchronize(): Promise<void>;

  /** Checks the commands, and chooses algorithms and workspaces of products and convolutions. */
  createProgram(definition: GpuProgramDefinition): NativeGpuProgram;
}

/** Compiled kernels, loaded on one GPU. */
export interface NativeGpuModule {
  /** Resources of a kernel. `localBytes` per thread: more than 0 if registers are spilled or arrays are indexed. */
  resources(kernel: string): {
    readonly registers: number;
    readonly localBytes: number;
    readonly sharedBytes: number;
    readonly maxThreads: number;
  };
}

export interface GpuProgramDefinition {
  /** Name in errors: `backward`. */
  readonly name: string;
  /** Bytes of the arena: memory of the program for intermediate values. Its contents are arbitrary at the start of each run. */
  readonly arenaBytes: number;
  /** Bytes of each buffer that a run is given: inputs, then outputs. */
  readonly slots: readonly number[];
  /** Carried out one after another. */
  readonly commands: readonly GpuCommand[];
}

/** A place in memory: in the arena, or in the buffer of a slot. Offsets in bytes. */
export type GpuAddress = { readonly arena: number } | { readonly slot: number; readonly byteOffset?: number };

export type GpuCommand =
  GpuLaunch | GpuProduct | GpuConvolution | GpuCopy | GpuFill | GpuExchangePlace | GpuJoin;

export type GpuExtent = readonly [x: number, y: number, z: number];

/** Launches a kernel. */
export interface GpuLaunch {
  readonly kind: 'launch';
  /** Name in errors: `softmax_12`. */
  readonly name: string;
  readonly module: NativeGpuModule;
  readonly kernel: string;
  /** Blocks: at most 2³¹ − 1, 65,535 and 65,535. */
  readonly grid: GpuExtent;
  /** Threads of a block: at most 1024, 1024 and 64, together at most 1024. */
  readonly block: GpuExtent;
  /** Dynamic shared memory (`extern __shared__`). More than 48 KiB is allowed if the GPU has it. Default: 0. */
  readonly sharedBytes?: number;
  /** One for each parameter of the kernel. Count and sizes are checked. */
  readonly arguments: readonly GpuArgument[];
}

/**
 * An argument of a kernel. Values that change from run to run (learning rates, seeds) are elements of a slot's buffer.
 *
 * - `arena`, `slot`: a pointer.
 * - `addresses`: a struct with an array of pointers, by value: `struct Tensors { float* at[24]; }`. All parameters of a
 *   kernel together may have 4,096 bytes.
 */
export type GpuArgument =
  | GpuAddress
  | { readonly addresses: readonly GpuAddress[] }
  | { readonly int32: number }
  | { readonly uint32: number }
  | { readonly int64: bigint | number }
  | { readonly uint64: bigint | number }
  | { readonly float32: number }
  | { readonly float64: number }
  /** A struct by value. */
  | { readonly bytes: Uint8Array };

export type GpuDType = 'float32' | 'bfloat16';

/** A matrix of a product: rows lie one behind the other, columns are contiguous. */
export interface GpuMatrix {
  readonly at: GpuAddress;
  /** True if memory holds the transposed matrix. Not for results. Default: false. */
  readonly transposed?: boolean;
  /** Elements from one row in memory to the next. Default: the length of a row in memory. */
  readonly rowStride?: number;
  /** Elements from one matrix of a batch to the next; 0: all use the same matrix. Default: the matrices lie side by side. */
  readonly batchStride?: number;
}

/**
 * result = epilogue(alpha · left · right + start), by cuBLASLt. left [m, k], right [k, n], start and result [m, n]. Sums are
 * accumulated in float32.
 */
export interface GpuProduct {
  readonly kind: 'product';
  readonly name: string;
  /** Of left and right. */
  readonly dtype: GpuDType;
  /** Of start and result. Default: `dtype`. */
  readonly resultDtype?: GpuDType;
  /** True if float32 factors may be rounded to TF32. Default: false. */
  readonly tf32?: boolean;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Products of a batch. Default: 1. */
  readonly batch?: number;
  readonly left: GpuMatrix;
  readonly right: GpuMatrix;
  readonly result: GpuMatrix;
  /** May be the result itself. Default: no matrix is added. */
  readonly start?: GpuMatrix;
  /** Default: 1. */
  readonly alpha?: number;
  /** Added to each row before the activation: n elements of `resultDtype`. Default: none. */
  readonly bias?: GpuAddress;
  /** `gelu` is the approximation by tanh. Default: none. */
  readonly activation?: 'relu' | 'gelu';
}

/**
 * A convolution or one of its gradients, by cuDNN with a deterministic algorithm. Two or three spatial axes; a convolution of one
 * axis has a height of 1.
 *
 * - `forward`: output from input and weight.
 * - `inputGradient`: input (its gradient) from weight and output (its gradient).
 * - `weightGradient`: weight (its gradient) from input and output (its gradient).
 */
export interface GpuConvolution {
  readonly kind: 'convolution';
  readonly name: string;
  readonly pass: 'forward' | 'inputGradient' | 'weightGradient';
  readonly dtype: GpuDType;
  /** As of a product. */
  readonly tf32?: boolean;
  /** True if all algorithms are tried on the GPU when the program is created, and the fastest is used. Default: false. */
  readonly benchmark?: boolean;
  /** Order in memory of input, weight and output. Default: `nchw`. */
  readonly layout?: 'nchw' | 'nhwc';
  /** Shapes in the order [N, C, spatial…], whatever the layout. */
  readonly input: { readonly at: GpuAddress; readonly shape: readonly number[] };
  /** [output channels, input channels / groups, spatial…] */
  readonly weight: { readonly at: GpuAddress; readonly shape: readonly number[] };
  readonly output: { readonly at: GpuAddress; readonly shape: readonly number[] };
  /** Of both sides of each spatial axis. */
  readonly padding: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  /** Default: 1. */
  readonly groups?: number;
}

export interface GpuCopy {
  readonly kind: 'copy';
  readonly name: string;
  readonly from: GpuAddress;
  readonly to: GpuAddress;
  readonly bytes: number;
}

/** Sets every byte to a value. */
export interface GpuFill {
  readonly kind: 'fill';
  readonly name: string;
  readonly at: GpuAddress;
  readonly bytes: number;
  /** Default: 0. */
  readonly value?: number;
}

/** Where collectives of a run begin: see `runProgram` of a process group. Without them it does nothing. */
export interface GpuExchangePlace {
  readonly kind: 'exchange';
  readonly name: string;
  /** Of a collective. */
  readonly place: number;
}

/** Commands that follow wait for all collectives that have begun. The last command of a program with places of collectives. */
export interface GpuJoin {
  readonly kind: 'join';
  readonly name: string;
}

/** A collective of a run, on float32 numbers. */
export interface NativeGpuExchange {
  /** An all-reduce, whose `send` and `receive` are the same, or an all-gather in the order of the ranks. */
  readonly kind: 'sum' | 'average' | 'gather';
  /** Of the command that begins it. */
  readonly place: number;
  /** Numbers that each rank sends. */
  readonly count: number;
  readonly send: NativeDeviceMemory;
  readonly sendOffset: number;
  readonly receive: NativeDeviceMemory;
  readonly receiveOffset: number;
}

/** Copies that are added together with a run, so that the host waits once. They are of bytes. */
export interface GpuTransfers {
  /** Before the commands. Arrays are read at the call. */
  readonly uploads?: readonly {
    readonly from: NativeTensor;
    readonly to: NativeDeviceMemory;
    readonly byteOffset?: number;
  }[];
  /** After the uploads and before the commands: from a part of some memory to a part of another. */
  readonly moves?: readonly {
    readonly from: NativeDeviceMemory;
    readonly byteOffset?: number;
    readonly to: NativeDeviceMemory;
    readonly toOffset?: number;
    readonly bytes: number;
  }[];
  /** After the commands. Arrays are written before the promise resolves. */
  readonly downloads?: readonly {
    readonly from: NativeDeviceMemory;
    readonly byteOffset?: number;
    readonly to: NativeTensor;
  }[];
}

/**
 * Commands over one arena. The first run with given buffers launches each command and waits for it, so that an error names the
 * command. The second run with the same buffers records a CUDA graph, and later runs replay it. The last 8 graphs are kept.
 */
export interface NativeGpuProgram {
  /**
   * Uses a part of some memory for a slot, in the next runs. The program keeps the memory until it is replaced.
   *
   * @param byteOffset A multiple of 16.
   * @throws if the slot's bytes exceed the memory.
   */
  bind(slot: number, memory: NativeDeviceMemory, byteOffset?: number): void;
  /**
   * Carries out the commands after all earlier work of the device. Runs may be started before earlier runs have ended.
   *
   * @param transfers copies before and after the commands. Default: none.
   * @throws (rejects) CUDA's error, with the names of the program and of the command that failed.
   */
  run(transfers?: GpuTransfers): Promise<void>;
  /** `run` that blocks the calling thread until the run has ended. */
  runSync(): void;
  /** Runs several times, and returns the GPU's time of each run in milliseconds, between two events. */
  measure(runs: number): Promise<readonly number[]>;
  /** How runs were carried out so far, and nodes of the graph that was last recorded. */
  readonly statistics: {
    readonly direct: number;
    readonly recorded: number;
    readonly replayed: number;
    readonly graphNodes: number;
    readonly workspaceBytes: number;
  };
  /** Frees arena, workspace and graphs after pending runs. The program cannot run afterwards. */
  release(): void;
}
