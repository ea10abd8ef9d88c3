import { examineAddon } from './checks/addon.ts';
import { examineClock } from './checks/clock.ts';
import { judgeGpuCompute } from './checks/gpu-compute.ts';
import { computeLibraries, judgeComputeLibrary } from './checks/gpu-libraries.ts';
import { judgeGpu } from './checks/gpu.ts';
import { judgeNccl } from './checks/nccl.ts';
import { examineNode } from './checks/node-version.ts';
import { examineOnnxruntime } from './checks/onnxruntime.ts';
import { examineOpenFiles } from './checks/open-files.ts';
import { examineSharedMemory } from './checks/shared-memory.ts';
import { examineThreads } from './checks/threads.ts';
import type { Finding, NamedFinding } from './finding.ts';
import { hasSomethingOfGpus, readGpuScene } from './gpu-scene.ts';
import { readGpuUsers } from './gpu-users.ts';
import type { DoctorOptions } from './options.ts';
import { runProbe } from './probe.ts';
import type { GpuComputeAnswer } from './probes/gpu-compute.ts';
import type { GpusAnswer } from './probes/gpus.ts';

type Examine = (options: DoctorOptions) => Finding | Promise<Finding>;

const checks: readonly (readonly [name: string, examine: Examine])[] = [
  ['node', examineNode],
  ['clock', examineClock],
  ['threads', examineThreads],
  ['open files', examineOpenFiles],
  ['addon', examineAddon],
  ['shared memory', examineSharedMemory],
  ['onnxruntime', examineOnnxruntime],
];

/** Checks that need no other machine. Checks that may hang run in child processes with a time limit. */
export async function* examineMachine(options: DoctorOptions): AsyncGenerator<NamedFinding> {
  for (const [check, examine] of checks) yield { check, ...(await examine(options)) };
  yield* examineGpus(options);
}

/**
 * The libraries are checked only if traces of a GPU exist or the job needs one, and GPUs compute only if the libraries are
 * usable.
 */
async function* examineGpus(options: DoctorOptions): AsyncGenerator<NamedFinding> {
  const scene = await readGpuScene(options, process.env);
  yield { check: 'gpu', ...judgeGpu(scene) };
  const { found, needsGpu } = scene;
  if (found.kind === 'failure' || !(needsGpu || hasSomethingOfGpus(scene))) return;
  for (const library of computeLibraries) {
    yield { check: library.check, ...judgeComputeLibrary(library, scene, found.answer) };
  }
  yield { check: 'nccl', ...judgeNccl(scene, found.answer) };
  if (found.answer.compute.problem === '') yield* examineComputing(options, found.answer);
}

/** Each GPU computes in a process of its own, all of them at the same time. */
async function* examineComputing(
  { timeoutMs }: DoctorOptions,
  { devices, compute }: GpusAnswer,
): AsyncGenerator<NamedFinding> {
  // Before the probes, which are users too.
  const users = await readGpuUsers(timeoutMs);
  const convolution = compute.cudnn.problem === '' ? ['convolution'] : [];
  const running = devices.map(async ({ index, uuid }) => {
    const result = await runProbe<GpuComputeAnswer>('gpu-compute', {
      timeoutMs,
      arguments: [String(index), ...convolution],
    });
    const finding = judgeGpuCompute({ uuid, result, nvrtc: compute.nvrtc.version, users });
    return { check: `gpu ${index}`, ...finding };
  });
  for (const finding of running) yield await finding;
}
