import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { DoctorOptions } from '../options.ts';
import { firstErrorLine, runProbe } from '../probe.ts';
import type { ProbeResult } from '../probe.ts';
import type { CudaProviderAnswer } from '../probes/cuda-provider.ts';

/** Checks that onnxruntime computes on the GPU. Runs only on machines with a GPU. */
export async function examineCudaProvider({ timeoutMs }: DoctorOptions): Promise<Finding> {
  return judgeCudaProvider(await runProbe<CudaProviderAnswer>('cuda-provider', { timeoutMs }));
}

export function judgeCudaProvider(result: ProbeResult<CudaProviderAnswer>): Finding {
  if (result.kind === 'answer' && result.answer.installed) {
    return ok(`onnxruntime ${result.answer.version} computes a graph on the GPU`, { ...result.answer });
  }
  const why =
    result.kind === 'answer'
      ? 'onnxruntime-node is not installed'
      : (firstErrorLine(result.stderr) ?? result.why);
  return warning(
    `onnxruntime does not compute on the GPU: ${why}`,
    'the npm packages do not include the CUDA provider: install CUDA 12, cuDNN 9 and onnxruntime-node, then run node node_modules/onnxruntime-node/script/install.js --onnxruntime-node-install=cuda12, as deploy/Dockerfile.gpu does',
  );
}
