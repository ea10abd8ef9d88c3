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

/** What the graph of the probe gives for 1 and −2. */
const doubled = '2,-4';

export function judgeOnnxruntime(result: ProbeResult<OnnxruntimeAnswer>): Finding {
  if (result.kind === 'failure') {
    return problem(
      `onnxruntime-node does not load or run: ${firstErrorLine(result.stderr) ?? result.why}`,
      'its binaries are for glibc 2.28 and later on x64 and arm64: use an image such as node:20-bookworm-slim, not Alpine; if files are missing, npm install again',
    );
  }
  const { answer } = result;
  if (!answer.installed) {
    return warning(
      `onnxruntime-node is not found from ${answer.lookedFrom.join(' or ')}: collectives work, models of @ringrun/nn do not`,
      'npm install @ringrun/nn where the training script is, or run the doctor there',
    );
  }
  if (String(answer.doubled) !== doubled) {
    return problem(
      `onnxruntime ${answer.version} computes ${answer.doubled.join(', ')} for 2·(1, −2)`,
      `install it again: remove ${answer.folder}, then npm install`,
    );
  }
  return ok(`${answer.version} computes a graph, ${Math.round(answer.milliseconds)} ms from nothing`, {
    ...answer,
  });
}
