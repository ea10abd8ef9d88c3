// Opens the CUDA driver and the libraries that compute and communicate on GPUs, as training does, and prints their versions and
// the GPUs.
import { describeGpu, describeNccl } from '@ringrun/native';
import type { GpuDescription, NcclDescription } from '@ringrun/native';

export interface GpusAnswer extends NcclDescription {
  /** Libraries with which models compute; `compute.cuda` is the driver again, with its reason for models. */
  compute: GpuDescription;
}

process.stdout.write(JSON.stringify({ ...describeNccl(), compute: describeGpu() } satisfies GpusAnswer));
