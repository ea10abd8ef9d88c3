import { doubling } from '../doubling.ts';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { DoctorOptions } from '../options.ts';
import { firstErrorLine, runProbe } from '../probe.ts';
import type { ProbeResult } from '../probe.ts';
import type { OnnxruntimeAnswer } from '../probes/onnxruntime.ts';

export async function examineOnnxruntime({ timeoutMs }: DoctorOptions): Promise<Finding> {
  return judgeOnnxruntime(await runProbe<OnnxruntimeAnswer>('onnxruntime', { timeoutMs }));
}

export function judgeOnnxruntime(result: ProbeResult<OnnxruntimeAnswer>): Finding {
  if (result.kind === 'failure') {
    return problem(
      `onnxruntime does not load or run: ${firstErrorLine(result.stderr) ?? result.why}`,
      'fix the addon first if its check failed; the library needs glibc 2.28 or later on x64 or arm64: use an image such as node:24-bookworm-slim, not Alpine; if files are missing, run npm install again',
    );
  }
  const { answer } = result;
  if (!answer.usable) {
    if (!answer.isMissing) return problem(`onnxruntime cannot be used: ${answer.problem}`, answer.fix);
    return warning(
      `no library of onnxruntime (${answer.problem}): collectives work, models of @ringrun/nn do not`,
      answer.fix,
    );
  }
  const expected = doubling.result.join(', ');
  const got = answer.doubled.join(', ');
  if (got !== expected) {
    return problem(
      `onnxruntime ${answer.version} computes wrongly: expected ${expected} for 2·(${doubling.values.join(', ')}), got ${got}`,
      `install it again: remove ${answer.path}, then run npm install`,
    );
  }
  return ok(`${answer.version} loads and runs a graph in ${Math.round(answer.milliseconds)} ms`, {
    ...answer,
  });
}
