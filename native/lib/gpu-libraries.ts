import type { GpuDescription } from './gpu.ts';

/** NVIDIA's libraries beside the driver: NVRTC compiles kernels, cuBLASLt multiplies, cuDNN convolves, NCCL communicates. */
export type GpuLibrary = 'nvrtc' | 'cublasLt' | 'cudnn' | 'nccl';

const [oldestMajor, newestMajor] = [12, 13];

/** Wheels of pip for CUDA 12 and 13. nvidia-cudnn requires nvidia-cublas, which requires nvidia-cuda-nvrtc. */
const wheels: Readonly<Record<GpuLibrary, readonly [cuda12: string, cuda13: string]>> = {
  nvrtc: ['nvidia-cuda-nvrtc-cu12', 'nvidia-cuda-nvrtc'],
  cublasLt: ['nvidia-cublas-cu12', 'nvidia-cublas'],
  cudnn: ['nvidia-cudnn-cu12', 'nvidia-cudnn-cu13'],
  nccl: ['nvidia-nccl-cu12', 'nvidia-nccl-cu13'],
};

/** Packages of NVIDIA's repositories for Debian and Ubuntu. `dashed`: CUDA's version, such as `12-4`. */
const aptPackages: Readonly<Record<GpuLibrary, (dashed: string, major: number) => string>> = {
  nvrtc: (dashed) => `cuda-nvrtc-${dashed}`,
  cublasLt: (dashed) => `libcublas-${dashed}`,
  cudnn: (_, major) => `libcudnn9-cuda-${major}`,
  nccl: () => 'libnccl2',
};

/**
 * The commands that install libraries which the driver can use, as the end of a sentence: pip's wheels, packages of NVIDIA's
 * repository, or the image.
 *
 * @param cudaVersion newest CUDA version of the driver, such as `12.4`; empty if unknown
 */
export function howToInstall(libraries: readonly GpuLibrary[], cudaVersion: string): string {
  const dashed = toolkitFor(cudaVersion).join('-');
  const [major] = toolkitFor(cudaVersion);
  const pip = libraries.map((library) => wheels[library][major === oldestMajor ? 0 : 1]);
  const apt = libraries.map((library) => aptPackages[library](dashed, major));
  return (
    `pip install ${pip.join(' ')}, or apt-get install ${apt.join(' ')} from NVIDIA's repository for Debian or Ubuntu, ` +
    'or use the image of deploy/Dockerfile.gpu'
  );
}

/** The toolkit's version that a driver for `cudaVersion` supports. Every driver for CUDA 12 or later supports 12.0. */
function toolkitFor(cudaVersion: string): [major: number, minor: number] {
  const [major = 0, minor = 0] = cudaVersion.split('.').map(Number);
  if (major < oldestMajor) return [oldestMajor, 0];
  return major > newestMajor ? [newestMajor, 0] : [major, minor];
}

/**
 * Why this process cannot compute on a GPU, and which commands install the libraries that were not found, as the end of a
 * sentence. Undefined if it can.
 */
export function whyGpuIsUnusable(description: GpuDescription): string | undefined {
  const { problem, cuda } = description;
  if (problem === '') return undefined;
  if (cuda.problem !== '') return problem;
  const missing = (['nvrtc', 'cublasLt', 'cudnn'] as const).filter(
    (library) => description[library].path === '',
  );
  return missing.length === 0 ? problem : `${problem}. Run ${howToInstall(missing, cuda.version)}`;
}
