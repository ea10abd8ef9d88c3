import type { GpuAddress } from '@ringrun/native';
import type { Kernel, Lowering } from '../lowering.ts';
import { int32, kernelsIn, launchBlock } from './launches.ts';
import { sourceOf } from './prelude.ts';
import { refusalBytes } from './refusals.ts';

/**
 * Keeps the cells of the first run that refused a value, for the host, which reads them after all runs. `kept`: 1 if there was such a
 * run, otherwise 0; then the words of its cells. Kernels of updates write nothing if it is 1, so neither this run nor later ones update.
 */
const source = sourceOf(`
extern "C" __global__ void __launch_bounds__(256) keepRefusals(const int64* cells, int64* kept, int words) {
  const bool isKept = kept[0] != 0;
  int isRefused = 0;
  for (int i = threadIdx.x; i < words; i += 256) isRefused |= cells[i] != 0;
  isRefused = combined<256, Largest>(isRefused);
  if (isKept || !isRefused) return;
  for (int i = threadIdx.x; i < words; i += 256) kept[1 + i] = cells[i];
  if (threadIdx.x == 0) kept[0] = 1;
}
`);

const kernels = kernelsIn('keep-refusals.cu', source, ['keepRefusals']);

export const keepRefusalsKernels: readonly Kernel[] = Object.values(kernels);

/** Keeps the first cells of a run. */
export function keepRefusals(
  lowering: Pick<Lowering, 'launch'>,
  cells: GpuAddress,
  kept: GpuAddress,
  count: number,
): void {
  launchBlock(lowering, kernels.keepRefusals, 256, [cells, kept, int32((count * refusalBytes) / 8)]);
}
