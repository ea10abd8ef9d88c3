import type { NativeBinding } from './binding.ts';
import type { GpuDescription } from './gpu.ts';
import { loadBinding, loadBuilt } from './load.ts';
import type { NcclDescription } from './nccl.ts';
import { warnOfOtherSystem } from './other-system.ts';

export type { NativeBinding, OwnConnection } from './binding.ts';
export { buildNative } from './compile.ts';
export type { NativeFailure } from './failure.ts';
export { howToInstall, whyGpuIsUnusable, type GpuLibrary } from './gpu-libraries.ts';
export type {
  GpuAddress,
  GpuArgument,
  GpuCommand,
  GpuConvolution,
  GpuCopy,
  GpuDescription,
  GpuDType,
  GpuExtent,
  GpuFill,
  GpuLaunch,
  GpuMatrix,
  GpuProduct,
  GpuProgramDefinition,
  GpuTransfers,
  NativeGpuDevice,
  NativeGpuExchange,
  NativeGpuModule,
  NativeGpuProgram,
} from './gpu.ts';
export { nativeDType, nativeOp, nativeReduceOp } from './generated/numbers.ts';
export { NativeUnavailableError } from './load.ts';
export type { NativeLibraryDescription, NcclDescription } from './nccl.ts';
export type {
  NativeGraphCall,
  NativeOnnxBinding,
  NativeOnnxOptions,
  NativeOnnxSession,
  NativeOnnxSlot,
} from './onnx.ts';
export {
  findOnnxruntime,
  onnxruntimeVersion,
  type FoundOnnxruntime,
  type NoOnnxruntime,
} from './onnxruntime.ts';
export { otherSystem, otherSystemProblem, type OtherSystem } from './other-system.ts';
export type {
  NativeCollectives,
  NativeEndpoint,
  NativeSizeRule,
  NativeHostLinks,
  NativeListening,
  NativePreparedOperation,
  NativeProcessGroup,
} from './process-group.ts';
export type {
  NativeDeviceMemory,
  NativeDeviceTensor,
  NativeFloat16Array,
  NativeHostMemory,
  NativePlacedTensor,
  NativeTensor,
} from './tensors.ts';
export { homeFolder, userCache } from './user-cache.ts';
export { findZeromq } from './zeromq.ts';

warnOfOtherSystem();

/**
 * Describes the CUDA driver, GPUs and NCCL library that a group with backend nccl would use, or why it cannot use them.
 * For `ringrun doctor` and error messages.
 *
 * @throws NativeUnavailableError
 */
export function describeNccl(): NcclDescription {
  return loadNative().describeNccl();
}

/**
 * Describes the libraries that compute on a GPU, or why this process cannot compute on one.
 *
 * @throws NativeUnavailableError
 */
export function describeGpu(): GpuDescription {
  return loadNative().describeGpu();
}

let binding: NativeBinding | undefined;

/**
 * Returns the addon. The first call loads it, and compiles it if no binary exists.
 *
 * @throws NativeUnavailableError that lists all attempts and what to install.
 */
export function loadNative(): NativeBinding {
  binding ??= loadBinding() as NativeBinding;
  return binding;
}

/**
 * The addon if a binary exists, for what a process can do without. Compiles nothing. A script may still set RINGRUN_NATIVE for
 * `loadNative`.
 */
export function loadNativeIfBuilt(): NativeBinding | undefined {
  return binding ?? (loadBuilt() as NativeBinding | undefined);
}
