import { howToInstall } from '@ringrun/native';
import type { GpuLibrary } from '@ringrun/native';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { GpuScene, GpuSettings } from '../gpu-scene.ts';
import { fixOfSearch, whyUnusable } from '../opened-library.ts';
import type { GpusAnswer } from '../probes/gpus.ts';

/** A library with which models of `@ringrun/nn` compute on a GPU. */
export interface ComputeLibrary {
  /** Name of the check. */
  readonly check: string;
  readonly key: Exclude<GpuLibrary, 'nccl'>;
  readonly name: string;
  /** Follows "without it, ". */
  readonly consequence: string;
  readonly variable: keyof GpuSettings;
}

const noModel = "models cannot compute on the GPU: RINGRUN_DEVICE=cuda and model.to('cuda') are errors";

export const computeLibraries: readonly ComputeLibrary[] = [
  { check: 'nvrtc', key: 'nvrtc', name: 'NVRTC', consequence: noModel, variable: 'RINGRUN_NVRTC_LIBRARY' },
  {
    check: 'cublaslt',
    key: 'cublasLt',
    name: 'cuBLASLt',
    consequence: noModel,
    variable: 'RINGRUN_CUBLASLT_LIBRARY',
  },
  {
    check: 'cudnn',
    key: 'cudnn',
    name: 'cuDNN',
    consequence: 'models with convolutions cannot compute on the GPU',
    variable: 'RINGRUN_CUDNN_LIBRARY',
  },
];

/** Reports one library. A missing one is a problem only if the job needs GPUs: training on the CPU does without. */
export function judgeComputeLibrary(
  { key, name, consequence, variable }: ComputeLibrary,
  { settings, needsGpu }: Pick<GpuScene, 'settings' | 'needsGpu'>,
  { compute }: Pick<GpusAnswer, 'compute'>,
): Finding {
  const library = compute[key];
  const { version, path } = library;
  const bad = needsGpu ? problem : warning;
  const install = howToInstall([key], compute.cuda.version);
  const measured = { ...library };
  if (library.problem !== '') {
    const fix = fixOfSearch(variable, settings[variable], install);
    return bad(`${whyUnusable(library)}. Without it, ${consequence}`, fix, measured);
  }
  // The search leaves newer ones out, unless the variable names one.
  if (key === 'nvrtc' && isNewer(version, compute.cuda.version)) {
    return bad(
      `${name} ${version} is newer than the driver, which is for CUDA ${compute.cuda.version} and cannot load its kernels`,
      `install a driver for CUDA ${majorOf(version)} or later, or ${install}`,
      measured,
    );
  }
  return ok(`${name} ${version}, ${path}`, measured);
}

/** True if the major version is above the driver's. Within a major version, every driver loads every kernel. */
function isNewer(version: string, driver: string): boolean {
  return driver !== '' && majorOf(version) > majorOf(driver);
}

function majorOf(version: string): number {
  return Number(version.split('.')[0]);
}
