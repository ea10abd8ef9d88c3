import { ArgumentError, NnError } from '../errors/errors.ts';

/**
 * Where graphs run: `cpu`; `cuda`, the GPU of this rank; or `cuda:N`, GPU N of those that CUDA_VISIBLE_DEVICES allows. The GPU of a
 * rank is that of its process group with backend nccl, else LOCAL_RANK modulo the number of GPUs.
 */
export type Device = 'cpu' | 'cuda' | `cuda:${number}`;

/** @throws ArgumentError if it is not a device. @param where the public name, in errors */
export function requireDevice(where: string, device: unknown): Device {
  if (isDevice(device)) return device;
  throw new ArgumentError(`${where}: expected 'cpu', 'cuda' or 'cuda:N', got ${JSON.stringify(device)}.`);
}

function isDevice(device: unknown): device is Device {
  return typeof device === 'string' && /^(cpu|cuda(:(0|[1-9]\d*))?)$/.test(device);
}

/** Index of a GPU; undefined for the GPU of this rank. */
export function indexOfGpu(device: Exclude<Device, 'cpu'>): number | undefined {
  return device === 'cuda' ? undefined : Number(device.slice('cuda:'.length));
}

/** What decides about the device of graphs whose model was not moved. */
export interface DeviceSettings {
  /** The argument of the last `setDefaultDevice`. */
  readonly set: Device | undefined;
  /** RINGRUN_DEVICE. Empty: not set. */
  readonly variable: string | undefined;
  /** The default process group. */
  readonly group:
    | {
        readonly backend: string;
        readonly device?: number | undefined;
        readonly gpuProblem?: string | undefined;
      }
    | undefined;
}

/** The choice of a device. */
export interface ChosenDevice {
  readonly device: Device;
  /** The setting that asked for it: the run fails if the device cannot be used. Undefined: the CPU takes its place. */
  readonly requiredBy: string | undefined;
}

/**
 * The device of graphs whose model was not moved: that of `setDefaultDevice`, else that of RINGRUN_DEVICE, else the GPU of a group
 * with backend nccl, else the CPU.
 *
 * @throws NnError (ERR_EXECUTOR) if RINGRUN_DEVICE is not a device
 */
export function chooseDevice({ set, variable, group }: DeviceSettings): ChosenDevice {
  if (set !== undefined) return { device: set, requiredBy: 'setDefaultDevice' };
  if (variable) {
    if (isDevice(variable)) return { device: variable, requiredBy: 'RINGRUN_DEVICE' };
    throw new NnError(
      'ERR_EXECUTOR',
      `RINGRUN_DEVICE: expected cpu, cuda or cuda:N, got ${JSON.stringify(variable)}. Unset it for the default: the CPU.`,
    );
  }
  if (group?.backend !== 'nccl') return { device: 'cpu', requiredBy: undefined };
  const device: Device = group.device === undefined ? 'cuda' : `cuda:${group.device}`;
  return { device, requiredBy: undefined };
}

/** Why a device cannot be used, as the end of a sentence. */
export interface Unusable {
  readonly problem: string;
}
