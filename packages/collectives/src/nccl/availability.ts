import type { NcclDescription } from '@ringrun/native';

import { RingrunError } from '../errors.ts';

type Library = NcclDescription['cuda'];

/** Why this machine has no nccl, with what was looked for and where; undefined where it has. */
export function whyUnavailable({ cuda, nccl }: NcclDescription): string | undefined {
  const problems = [
    problemOf('the CUDA driver', 'libcuda.so.1', 'RINGRUN_CUDA_LIBRARY', cuda),
    problemOf('NCCL', 'libnccl.so.2', 'RINGRUN_NCCL_LIBRARY', nccl),
  ].filter((one) => one !== undefined);
  return problems.length === 0 ? undefined : problems.join('; ');
}

function problemOf(what: string, file: string, variable: string, library: Library): string | undefined {
  const { problem, path, attempts } = library;
  if (problem === '') return undefined;
  if (path !== '') return `${what}: ${problem}`;
  const tried = attempts.map(({ place, reason }) => `${place} (${reason})`);
  return `${what}: ${problem}. Looked for ${file} in ${tried.join(', ')}; ${variable} names another file`;
}

/** @throws RingrunError `ERR_NCCL_UNAVAILABLE` */
export function requireNccl(description: NcclDescription): void {
  const why = whyUnavailable(description);
  if (why === undefined) return;
  throw new RingrunError(
    'ERR_NCCL_UNAVAILABLE',
    `the backend nccl cannot be used here: ${why}. For NCCL install NVIDIA's driver and libnccl2 (or pip's nvidia-nccl-cu12); without GPUs choose the backend gloo, which runs on every machine`,
  );
}
