import { howToInstall } from '@ringrun/native';
import type { NcclDescription } from '@ringrun/native';

import { RingrunError } from '@ringrun/core';

type Library = NcclDescription['cuda'];

/** Returns the reason why NCCL is unavailable, with the paths tried; undefined if it is available. */
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
  return `${what}: ${problem}. Looked for ${file} in ${tried.join(', ')}. Set ${variable} to use another file`;
}

/** @throws RingrunError `ERR_NCCL_UNAVAILABLE` */
export function requireNccl(description: NcclDescription): void {
  const why = whyUnavailable(description);
  if (why === undefined) return;
  throw new RingrunError(
    'ERR_NCCL_UNAVAILABLE',
    `backend nccl is not available: ${why}. ${cureOf(description)}, or use backend gloo, which needs no GPU. ` +
      'ringrun doctor --backend nccl lists everything that is missing',
  );
}

/** Without a driver, an image cannot help. */
function cureOf({ cuda, nccl }: NcclDescription): string {
  const cures = [
    ...(cuda.path === ''
      ? ["install NVIDIA's driver on the host, and start the container with GPU access"]
      : []),
    ...(nccl.problem === '' ? [] : [`run ${howToInstall(['nccl'], cuda.version)}`]),
  ];
  const text = cures.length === 0 ? 'check the driver with nvidia-smi' : cures.join('; ');
  return text[0].toUpperCase() + text.slice(1);
}
