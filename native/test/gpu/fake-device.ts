import { loadNative, type NativeGpuDevice } from '@ringrun/native';
import { fakeComputeLibraries } from '../fake-gpu/libraries.ts';
import { fillAllocatedMemory } from './undefined-memory.ts';

/** A GPU of the fake driver, in this process: one file of tests has one process. */
export function fakeDevice(): NativeGpuDevice {
  Object.assign(process.env, fakeComputeLibraries());
  fillAllocatedMemory();
  return new (loadNative().GpuDevice)(0);
}

/** False in the check on a GPU (scripts/gpu-compute-check.sh), where tests of the fakes do not hold. */
export const isFake = process.env['RINGRUN_GPU_CHECK'] !== '1';
