import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const native = fileURLToPath(new URL('../../src/', import.meta.url));
const cache = fileURLToPath(new URL('../../../node_modules/.cache/ringrun-fake-gpu/', import.meta.url));

/** Sources of the addon that a fake contains. */
const partsOf: Readonly<Record<string, readonly string[]>> = {
  cuda: ['base/fiber.cc', 'base/context.cc', 'base/failure.cc'],
};

/**
 * Compiles the fake CUDA driver and the fake NCCL if they have changed, and returns the environment that makes ranks open them
 * instead of NVIDIA's libraries.
 */
export function fakeGpuLibraries(): { RINGRUN_CUDA_LIBRARY: string; RINGRUN_NCCL_LIBRARY: string } {
  return { RINGRUN_CUDA_LIBRARY: compiled('cuda'), RINGRUN_NCCL_LIBRARY: compiled('nccl') };
}

/**
 * As `fakeGpuLibraries`, for processes that compute on the fake GPU. Compiled kernels are kept from one test to the next. Without
 * TF32, because most tests compare float32 with the CPU: those of TF32 delete NVIDIA_TF32_OVERRIDE.
 */
export function fakeComputeLibraries(): Record<string, string> {
  const kernels = join(cache, `kernels-${hashOfSources('nvrtc')}`);
  mkdirSync(kernels, { recursive: true });
  return {
    ...fakeGpuLibraries(),
    RINGRUN_NVRTC_LIBRARY: compiled('nvrtc'),
    RINGRUN_CUBLASLT_LIBRARY: compiled('cublaslt'),
    RINGRUN_CUDNN_LIBRARY: compiled('cudnn'),
    NVIDIA_TF32_OVERRIDE: '0',
    RINGRUN_FAKE_NVRTC_CACHE: kernels,
    RINGRUN_FAKE_NVRTC_FLAGS: extraFlags.join(' '),
  };
}

/**
 * The addon's flags under a sanitizer (scripts/test-sanitized.js), which cannot see the synchronization of
 * uninstrumented code.
 */
const extraFlags = (process.env['CXXFLAGS'] ?? '').split(/\s+/).filter(Boolean);

/** -O3, because at -O2 g++ leaves the loops of products and convolutions scalar. */
const flags = ['-std=c++17', '-O3', '-fPIC', '-shared', '-pthread', '-Wall', '-Wextra', '-Werror'];

/** Compiles all sources of a folder. Written to a temporary name first, because two test files compile at once. */
function compiled(name: string): string {
  const library = join(cache, `lib${name}-${hashOfSources(name)}.so`);
  if (existsSync(library)) return library;
  mkdirSync(cache, { recursive: true });
  const temporary = `${library}.${process.pid}.tmp`;
  const compiler = process.env['CXX'] ?? 'g++';
  // The fake NVRTC has no threads, and g++'s own headers of regular expressions fail with -Werror under sanitizers.
  const sanitizing = name === 'nvrtc' ? [] : extraFlags;
  // A preloaded sanitizer is for this process, not for the compiler.
  const env = { ...process.env, LD_PRELOAD: '' };
  const sources = readdirSync(join(folder, name)).filter((file) => file.endsWith('.cc'));
  const { status, stderr, error } = spawnSync(
    compiler,
    [
      ...[...flags, ...sanitizing, `-I${folder}`, `-I${native}`, `-DFAKE_GPU_FOLDER="${folder}"`],
      ...sources.map((file) => join(folder, name, file)),
      ...(partsOf[name] ?? []).map((part) => join(native, part)),
      ...['-o', temporary, '-ldl'],
    ],
    { encoding: 'utf8', env },
  );
  if (status !== 0) {
    rmSync(temporary, { force: true });
    throw new Error(`the fake ${name} did not compile with ${compiler}: ${error?.message ?? stderr}`);
  }
  renameSync(temporary, library);
  return library;
}

/** Of the sources of one fake, and of the headers that all share. */
function hashOfSources(library: string): string {
  const hash = createHash('sha256').update([...flags, ...extraFlags].join(' '));
  const own = readdirSync(join(folder, library), { recursive: true, encoding: 'utf8' });
  const names = [...readdirSync(folder), ...own.map((name) => join(library, name))];
  for (const name of names.filter((one) => /\.(?:cc|h)$/.test(one)).sort()) {
    hash.update(name).update(readFileSync(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
