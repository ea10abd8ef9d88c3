import { loadNative, nativeDType } from '@ringrun/native';
import type {
  NativeDeviceMemory,
  NativeGpuExchange,
  NativeGpuProgram,
  NativeProcessGroup,
} from '@ringrun/native';

import {
  bytesPerElement,
  checkAsLong,
  DeviceTensor,
  InvalidArgumentError,
  messageOptions,
  PromisedWork,
  requireOptions,
  RingrunError,
  timeoutOption,
} from '@ringrun/core';
import type {
  CollectiveBuffer,
  CollectiveOptions,
  DeviceCopies,
  DType,
  GpuGroup,
  RecvOptions,
  SendOptions,
  TagOption,
  TypedArray,
  Work,
} from '@ringrun/core';
import {
  checkedDType,
  checkedDTypeOf,
  checkedLength,
  checkedPeer,
  refuseResizable,
} from '../native-group/arguments.ts';
import type { NativeCalls } from '../native-group/native-calls.ts';
import type { GroupSettings } from '../native-group/native-group.ts';
import { NativeGroup } from '../native-group/native-group.ts';
import { checkDType } from '../native-group/parts.ts';

/**
 * A process group whose collectives run on GPUs through NCCL (torch's backend nccl), on GPU tensors (`allocate`,
 * `wrap`) and on host arrays, which are copied through the GPU in pieces.
 *
 * The ranks are also connected as in a CPU group. Over these connections they agree on every operation before NCCL
 * starts it, and monitor each other while it runs, so errors are the same as in every group. They also carry the
 * operations that NCCL does not support: objects, messages of host arrays (with tags, from any sender), and BAND, BOR
 * and BXOR.
 *
 * Numerics are NCCL's: sums of float16 and bfloat16 may be rounded at each step between ranks, AVG multiplies by 1/size
 * before adding, and MIN and MAX ignore NaN. The results are bit-identical on all ranks.
 */
export class NcclGroup extends NativeGroup implements GpuGroup {
  /** The name that `initProcessGroup` accepts. */
  declare readonly backend: 'nccl';
  /** Index of this rank's GPU among the visible ones. */
  readonly device: number;
  /** See {@link ProcessGroup.gpuProblem}. */
  readonly gpuProblem: string | undefined;
  readonly #copies: DeviceCopies;

  /** @internal */
  constructor(
    calls: NativeCalls,
    settings: Omit<GroupSettings, 'backend' | 'transport'> & {
      device: number;
      gpuProblem: string | undefined;
    },
  ) {
    super(calls, { ...settings, backend: 'nccl', transport: 'nccl' });
    this.device = settings.device;
    this.gpuProblem = settings.gpuProblem;
    this.#copies = {
      toDevice: (tensor, from, options) => this.#copy('copyToDevice', tensor, from, options),
      toHost: (tensor, to, options) => this.#copy('copyToHost', tensor, to, options),
    };
  }

  /**
   * Allocates `length` uninitialized elements on this rank's GPU (torch.empty with `device='cuda'`). Not a collective.
   *
   * @throws InvalidArgumentError for an invalid length; RingrunError `ERR_SYSTEM` if memory runs out. The group remains
   * usable.
   */
  allocate(dtype: DType, length: number): DeviceTensor {
    checkedDType(dtype);
    const bytes = checkedLength(length) * bytesPerElement[dtype];
    const memory = allocated(this.device, bytes);
    return new DeviceTensor(this.#copies, memory, { dtype, length, byteOffset: 0 });
  }

  /**
   * Wraps `length` elements that another library owns at `address` (a CUdeviceptr on this rank's GPU), such as
   * gradients, without copying. The library must keep the memory while the tensor is in use. Operations do not wait for
   * the library's streams: see `afterStream`.
   */
  wrap(address: bigint, dtype: DType, length: number): DeviceTensor {
    checkedDType(dtype);
    const bytes = checkedLength(length) * bytesPerElement[dtype];
    const memory = new (loadNative().DeviceMemory)(this.device, bytes, address);
    return new DeviceTensor(this.#copies, memory, { dtype, length, byteOffset: 0 });
  }

  /**
   * See {@link GpuGroup}.
   *
   * @internal
   */
  async runProgram(program: object, exchanges: readonly object[]): Promise<void> {
    await this.later({}, (native, timeoutMs) =>
      native.runProgram(program as NativeGpuProgram, exchanges as readonly NativeGpuExchange[], timeoutMs),
    );
  }

  /**
   * Makes later operations wait on the GPU for the work queued so far on `stream`, a CUstream of another library
   * (cuEventRecord, cuStreamWaitEvent). Call it after launching a computation and before reducing its results. The host
   * does not block.
   */
  async afterStream(stream: bigint, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('afterStream', options, timeoutOption);
    await this.later(options, (native, timeoutMs) => native.afterStream(stream, timeoutMs));
  }

  /**
   * Makes work queued on `stream` after this resolves wait on the GPU for the operations called before. Not needed
   * after those operations have been awaited.
   */
  async beforeStream(stream: bigint, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('beforeStream', options, timeoutOption);
    await this.later(options, (native, timeoutMs) => native.beforeStream(stream, timeoutMs));
  }

  /**
   * Sends a `DeviceTensor` through NCCL, from GPU to GPU, in the order of the group's operations on both ranks, as in
   * torch; tags are not supported. Sends a host array like any other group.
   */
  override isend(tensor: CollectiveBuffer, dst: number, options: SendOptions = {}): Work {
    if (!(tensor instanceof DeviceTensor)) return super.isend(tensor, dst, options);
    this.checkOptions('isend', options, messageOptions.send);
    checkNoTag(options);
    const peer = checkedPeer('dst', dst, this);
    return this.#begin(options, (native, timeoutMs) =>
      native.sendOnDevice(tensor, nativeDType[tensor.dtype], peer, timeoutMs),
    );
  }

  /** Takes host arrays only: await `send` for a `DeviceTensor`. */
  override sendSync(tensor: CollectiveBuffer, dst: number, options: SendOptions = {}): void {
    refuseSync('sendSync', tensor);
    super.sendSync(tensor, dst, options);
  }

  /** See `isend`. `src` is required for a `DeviceTensor`. */
  override irecv(tensor: CollectiveBuffer, options: RecvOptions = {}): Work<number> {
    if (!(tensor instanceof DeviceTensor)) return super.irecv(tensor, options);
    this.checkOptions('irecv', options, messageOptions.recv);
    checkNoTag(options);
    const peer = checkedPeer('src', checkedSender(options.src), this);
    const received = this.#begin(options, (native, timeoutMs) =>
      native.receiveOnDevice(tensor, nativeDType[tensor.dtype], peer, timeoutMs),
    );
    return new PromisedWork(received.wait().then(() => peer));
  }

  /** Takes host arrays only: await `recv` for a `DeviceTensor`. */
  override recvSync(tensor: CollectiveBuffer, options: RecvOptions = {}): number {
    refuseSync('recvSync', tensor);
    return super.recvSync(tensor, options);
  }

  #begin(
    options: CollectiveOptions,
    operate: (native: NativeProcessGroup, timeoutMs: number) => Promise<void>,
  ): Work {
    return new PromisedWork(this.later(options, operate));
  }

  #copy(
    direction: 'copyToDevice' | 'copyToHost',
    tensor: DeviceTensor,
    array: TypedArray,
    options: CollectiveOptions,
  ): Promise<void> {
    const dtype = checkedDTypeOf(array, 'array');
    checkDType({ name: 'array', value: array }, { dtype: tensor.dtype, from: 'the tensor' });
    checkAsLong(tensor, array);
    refuseResizable(array);
    return this.later(options, (native, timeoutMs) =>
      native[direction](tensor, array, nativeDType[dtype], timeoutMs),
    );
  }
}

function allocated(device: number, bytes: number): NativeDeviceMemory {
  try {
    return new (loadNative().DeviceMemory)(device, bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RingrunError('ERR_SYSTEM', reason, { cause: error });
  }
}

function checkNoTag({ tag = 0 }: TagOption): void {
  if (tag === 0) return;
  throw new InvalidArgumentError(
    `tag is ${tag} and the tensor is on a GPU, expected no tag: NCCL matches messages in the order of the calls`,
  );
}

function checkedSender(src: number | undefined): number {
  if (src !== undefined) return src;
  throw new InvalidArgumentError(
    'src is missing and the tensor is on a GPU, expected a rank of this group: NCCL cannot receive from any rank',
  );
}

function refuseSync(name: string, tensor: CollectiveBuffer): void {
  if (!(tensor instanceof DeviceTensor)) return;
  throw new InvalidArgumentError(
    `${name}: expected an array in host memory, got a tensor on a GPU. Use await ${name.replace('Sync', '')} instead`,
  );
}
