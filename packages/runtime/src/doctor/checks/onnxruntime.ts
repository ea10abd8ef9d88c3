import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { DoctorOptions } from '../options.ts';
import { firstErrorLine, runProbe } from '../probe.ts';
import type { ProbeResult } from '../probe.ts';
import type { OnnxruntimeAnswer } from '../probes/onnxruntime.ts';

export async function examineOnnxruntime({ timeoutMs }: DoctorOptions): Promise<Finding> {
  return judgeOnnxruntime(
    await runProbe<OnnxruntimeAnswer>('onnxruntime', { timeoutMs, arguments: ['cpu'] }),
  );
}

/** Result of the probe's graph for the input 1, −2. */
const doubled = '2,-4';

export function judgeOnnxruntime(result: ProbeResult<OnnxruntimeAnswer>): Finding {
  if (result.kind === 'failure') {
    return problem(
      `onnxruntime-node does not load or run: ${firstErrorLine(result.stderr) ?? result.why}`,
      'its binaries need glibc 2.28 or later on x64 or arm64: use an image such as node:20-bookworm-slim, not Alpine; if files are missing, run npm install again',
    );
  }
  const { answer } = result;
  if (!answer.installed) {
    return warning(
      `onnxruntime-node is not found from ${answer.lookedFrom.join(' or ')}: collectives work, models of @ringrun/nn do not`,
      "run npm install @ringrun/nn in the training script's folder, or run the doctor in that folder",
    );
  }
  if (String(answer.doubled) !== doubled) {
    return problem(
      `onnxruntime ${answer.version} computes wrongly: expected 2, -4 for 2·(1, -2), got ${answer.doubled.join(', ')}`,
      `install it again: remove ${answer.folder}, then run npm install`,
    );
  }
  return ok(`${answer.version} loads and runs a graph in ${Math.round(answer.milliseconds)} ms`, {
    ...answer,
  });
}
