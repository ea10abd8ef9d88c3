import { examineAddon } from './checks/addon.ts';
import { examineClock } from './checks/clock.ts';
import { examineCudaProvider } from './checks/cuda-provider.ts';
import { judgeGpu } from './checks/gpu.ts';
import { judgeNccl } from './checks/nccl.ts';
import { examineNode } from './checks/node-version.ts';
import { examineOnnxruntime } from './checks/onnxruntime.ts';
import { examineOpenFiles } from './checks/open-files.ts';
import { examineSharedMemory } from './checks/shared-memory.ts';
import { examineThreads } from './checks/threads.ts';
import type { Finding, NamedFinding } from './finding.ts';
import { hasSomethingOfGpus, readGpuScene } from './gpu-scene.ts';
import type { DoctorOptions } from './options.ts';

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

/** NCCL is checked only if traces of a GPU exist, onnxruntime's CUDA provider only if a GPU is usable. */
async function* examineGpus(options: DoctorOptions): AsyncGenerator<NamedFinding> {
  const scene = await readGpuScene(options.timeoutMs, process.env);
  yield { check: 'gpu', ...judgeGpu(scene) };
  if (scene.found.kind === 'failure' || !hasSomethingOfGpus(scene)) return;
  yield { check: 'nccl', ...judgeNccl(scene, scene.found.answer) };
  if (scene.found.answer.cuda.problem !== '') return;
  yield { check: 'cuda provider', ...(await examineCudaProvider(options)) };
}
