import { invalidateRecordedCalls, localRankOf, registry } from '@ringrun/core';
import { ArgumentError, NnError } from '../errors/errors.ts';
import {
  chooseDevice,
  indexOfGpu,
  requireDevice,
  type Device,
  type DeviceSettings,
  type Unusable,
} from './device.ts';
import type { Executor } from './executor.ts';
import { onnxruntimeExecutor } from './cpu/onnxruntime.ts';
import { cudaExecutor } from './cuda/cuda.ts';

/**
 * Returns the executor of a GPU: the same object in every call.
 *
 * @param index of the GPU; undefined: that of this rank, LOCAL_RANK modulo the number of GPUs
 */
type GpuExecutor = (index: number | undefined) => Executor | Unusable;

let gpuExecutor: GpuExecutor = cudaExecutor;

/** Sets the executors of GPUs. Call it when the module is loaded, or in a test. Returns the earlier function. */
export function setGpuExecutor(executor: GpuExecutor): GpuExecutor {
  const before = gpuExecutor;
  gpuExecutor = executor;
  return before;
}

/**
 * The executor of a graph: that of the device to which its parameters and buffers were moved. Leaves that were not moved follow.
 * If none was moved: that of the default device.
 *
 * @throws ArgumentError if they were moved to different devices; NnError (ERR_EXECUTOR) if the device cannot be used
 */
export function executorOf(
  leaves: Iterable<{ readonly source: { readonly device?: Device | undefined } }>,
): Executor {
  let moved: Device | undefined;
  for (const {
    source: { device },
  } of leaves) {
    if (device === undefined || device === moved) continue;
    if (moved !== undefined && executorAt(moved) !== executorAt(device)) {
      throw new ArgumentError(
        `Expected all parameters and buffers of a graph on one device, got ${moved} and ${device}. Move the modules with module.to('${moved}').`,
      );
    }
    moved = device;
  }
  return moved === undefined ? defaultExecutor() : requireExecutor('to', moved);
}

/** The executor of graphs whose parameters were not moved. */
function defaultExecutor(): Executor {
  const chosen = settings();
  const { device, requiredBy } = chooseDevice(chosen);
  if (requiredBy !== undefined) return requireExecutor(requiredBy, device);
  if (device === 'cpu') return onnxruntimeExecutor;
  // All ranks of a group compute on the same kind of device, because they average gradients there.
  const executor = executorAt(device);
  const problem = chosen.group?.gpuProblem ?? ('problem' in executor ? executor.problem : undefined);
  if (problem === undefined && !('problem' in executor)) return executor;
  reportFallback(device, problem!);
  return onnxruntimeExecutor;
}

/**
 * Sets the device of all graphs whose model was not moved with `module.to` (torch.set_default_device). Default: the device of
 * RINGRUN_DEVICE, else the GPU of a default group with backend nccl, else the CPU.
 *
 * Parameters, buffers and optimizer states move when a graph on the other device first uses them. Batches are copied by themselves.
 *
 * @param device `cpu`; `cuda`, the GPU of this rank; `cuda:N`; or undefined for the default
 * @throws ArgumentError for another device; NnError (ERR_EXECUTOR) if it cannot be used
 */
export function setDefaultDevice(device: Device | undefined): void {
  if (device !== undefined) requireUsable('setDefaultDevice', device);
  defaultDevice = device;
  invalidateRecordedCalls();
}

/** @throws ArgumentError if it is not a device; NnError (ERR_EXECUTOR) if it cannot be used. @param where in errors */
export function requireUsable(where: string, device: unknown): Device {
  const known = requireDevice(where, device);
  requireExecutor(where, known);
  return known;
}

let defaultDevice: Device | undefined;
/** Backend and GPU of the last default group, without its memory. */
let lastGroup: DeviceSettings['group'];

function settings(): DeviceSettings {
  // A trained model stays on its device after destroyProcessGroup, and while ranks form the next group.
  const { defaultGroup } = registry;
  if (defaultGroup) {
    const { backend, device, gpuProblem } = defaultGroup;
    lastGroup = { backend, device, gpuProblem };
  }
  return { set: defaultDevice, variable: process.env.RINGRUN_DEVICE, group: lastGroup };
}

function executorAt(device: Device): Executor | Unusable {
  return device === 'cpu' ? onnxruntimeExecutor : gpuExecutor(indexOfGpu(device));
}

function requireExecutor(where: string, device: Device): Executor {
  const executor = executorAt(device);
  if (!('problem' in executor)) return executor;
  const cure = where === 'RINGRUN_DEVICE' ? 'Unset it or set it to cpu' : "Use 'cpu'";
  throw new NnError(
    'ERR_EXECUTOR',
    `${where}: expected a device that can be used, got ${device}: ${executor.problem}. ${cure} to compute on the CPU.`,
  );
}

const reported = new Set<string>();

/** Each problem once per process, and by one rank of each host. */
function reportFallback(device: Device, problem: string): void {
  if (reported.has(problem)) return;
  reported.add(problem);
  if ((localRankOf(process.env) ?? '0') !== '0') return;
  process.stderr.write(
    `ringrun: models compute on the CPU, and gradients are averaged on the GPU (${device}) with nccl: ${problem}. ` +
      'RINGRUN_DEVICE=cpu hides this line. (printed once)\n',
  );
}
