import { loadNative, nativeDType } from '@ringrun/native';
import type { NativeDeviceMemory, NativeProcessGroup } from '@ringrun/native';

import type { DeviceCopies, Tensor } from '../device-tensor.ts';
import { checkAsLong, DeviceTensor } from '../device-tensor.ts';
import type { DType, TypedArray } from '../dtype.ts';
import { bytesPerElement } from '../dtype.ts';
import { InvalidArgumentError, RingrunError } from '../errors.ts';
import { checkedDType, checkedDTypeOf, checkedLength, checkedPeer } from '../gloo/arguments.ts';
import type { GroupSettings } from '../gloo/gloo-group.ts';
import { GlooGroup } from '../gloo/gloo-group.ts';
import type { NativeCalls } from '../gloo/native-calls.ts';
import { checkDType } from '../gloo/parts.ts';
import type { CollectiveOptions, RecvOptions, SendOptions, TagOption } from '../options.ts';
import { collectiveOptions, timeoutOption } from '../options.ts';
import { requireOptions } from '../require-options.ts';
import type { Work } from '../work.ts';
import { PromisedWork } from '../work.ts';

/**
 * A process group whose collectives run on GPUs through NCCL (torch's backend nccl), on arrays of this host, which are taken through the GPU in pieces, and on
 * tensors that lie there (`allocate`, `wrap`).
 *
 * It is a gloo group too, whose ranks agree over their own connections on every operation before NCCL begins it, and watch each other while it runs: errors are
 * those of every group. These connections also carry what NCCL does not know: objects, messages of host arrays (with tags, from any sender), and BAND, BOR and BXOR.
 *
 * How NCCL computes is its own: sums of float16 and bfloat16 may be rounded at each step between ranks, AVG multiplies by 1/size before adding, and MIN and MAX
 * pass over NaN. All ranks end with the same bytes.
 */
export class NcclGroup extends GlooGroup {
  override readonly backend = 'nccl';
  /** The GPU of this rank, by its index among those that it sees. */
  readonly device: number;
  readonly #copies: DeviceCopies;

  constructor(calls: NativeCalls, settings: Omit<GroupSettings, 'transport'> & { device: number }) {
    super(calls, { ...settings, transport: 'nccl' });
    this.device = settings.device;
    this.#copies = {
      toDevice: (tensor, from, options) => this.#copy('copyToDevice', tensor, from, options),
      toHost: (tensor, to, options) => this.#copy('copyToHost', tensor, to, options),
    };
  }

  /**
   * `length` elements on this rank's GPU (torch.empty with `device='cuda'`). What they hold is left from whoever had the memory before. No collective.
   *
   * @throws InvalidArgumentError for a length that cannot be; RingrunError `ERR_SYSTEM` when there is not enough memory. The group can be used further.
   */
  allocate(dtype: DType, length: number): DeviceTensor {
    checkedDType(dtype);
    const bytes = checkedLength(length) * bytesPerElement[dtype];
    const memory = allocated(this.device, bytes);
    return new DeviceTensor(this.#copies, memory, { dtype, length, byteOffset: 0 });
  }

  /**
   * `length` elements that another library has at `address` (a CUdeviceptr in memory of this rank's GPU), such as gradients: they are used where they lie. That library
   * keeps them until the tensor is used no more. Operations do not wait for its streams by themselves: see `afterStream`.
   */
  wrap(address: bigint, dtype: DType, length: number): DeviceTensor {
    checkedDType(dtype);
    const bytes = checkedLength(length) * bytesPerElement[dtype];
    const memory = new (loadNative().DeviceMemory)(this.device, bytes, address);
    return new DeviceTensor(this.#copies, memory, { dtype, length, byteOffset: 0 });
  }

  /**
   * Operations that are called from now on begin on the GPU when `stream`, a CUstream of another library, has done what it has been given when this one's turn comes
   * (cuEventRecord, cuStreamWaitEvent): to be called after a computation was launched, and before its results are reduced. Nobody waits on this host.
   */
  async afterStream(stream: bigint, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('afterStream', options, timeoutOption);
    await this.later(options, (native, timeoutMs) => native.afterStream(stream, timeoutMs));
  }

  /**
   * What `stream` is given after this has resolved begins on the GPU when the operations called before have ended there. Whoever has awaited those needs it not.
   */
  async beforeStream(stream: bigint, options: CollectiveOptions = {}): Promise<void> {
    requireOptions('beforeStream', options, timeoutOption);
    await this.later(options, (native, timeoutMs) => native.beforeStream(stream, timeoutMs));
  }

  /**
   * Of a `DeviceTensor`: through NCCL, from GPU to GPU. It has its place in the order of the group's operations, on the sender and on the receiver, as in torch; there are
   * no tags. Of an array of this host: as in every group.
   */
  override isend(tensor: Tensor, dst: number, options: SendOptions = {}): Work {
    if (!(tensor instanceof DeviceTensor)) return super.isend(tensor, dst, options);
    this.checkOptions('isend', options, collectiveOptions.send);
    checkNoTag(options);
    const peer = checkedPeer('dst', dst, this);
    return this.#begin(options, (native, timeoutMs) =>
      native.sendOnDevice(tensor, nativeDType[tensor.dtype], peer, timeoutMs),
    );
  }

  override sendSync(tensor: Tensor, dst: number, options: SendOptions = {}): void {
    refuseSync('sendSync', tensor);
    super.sendSync(tensor, dst, options);
  }

  /** As of `isend`; `src` has to be given for a `DeviceTensor`. */
  override irecv(tensor: Tensor, options: RecvOptions = {}): Work<number> {
    if (!(tensor instanceof DeviceTensor)) return super.irecv(tensor, options);
    this.checkOptions('irecv', options, collectiveOptions.recv);
    checkNoTag(options);
    const peer = checkedPeer('src', checkedSender(options.src), this);
    const received = this.#begin(options, (native, timeoutMs) =>
      native.receiveOnDevice(tensor, nativeDType[tensor.dtype], peer, timeoutMs),
    );
    return new PromisedWork(received.wait().then(() => peer));
  }

  override recvSync(tensor: Tensor, options: RecvOptions = {}): number {
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
    `tag is ${tag} and the tensor lies on a GPU, expected none: NCCL takes messages in the order of the calls`,
  );
}

function checkedSender(src: number | undefined): number {
  if (src !== undefined) return src;
  throw new InvalidArgumentError(
    'src is missing and the tensor lies on a GPU, expected a rank of this group: NCCL does not receive from whoever sends first',
  );
}

function refuseSync(name: string, tensor: Tensor): void {
  if (!(tensor instanceof DeviceTensor)) return;
  throw new InvalidArgumentError(
    `${name} was given a tensor on a GPU, expected an array of this host: await ${name.replace('Sync', '')} instead`,
  );
}
