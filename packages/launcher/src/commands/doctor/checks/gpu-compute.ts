import { howToInstall } from '@ringrun/native';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { GpuUser } from '../gpu-users.ts';
import { firstErrorLine } from '../probe.ts';
import type { ProbeResult } from '../probe.ts';
import type { GpuComputeAnswer } from '../probes/gpu-compute.ts';
import { formatBytes } from '../units.ts';

export interface ComputingGpu {
  readonly uuid: string;
  readonly result: ProbeResult<GpuComputeAnswer>;
  /** NVRTC's version, such as `12.4`. */
  readonly nvrtc: string;
  /** Undefined if unknown. */
  readonly users: readonly GpuUser[] | undefined;
}

/** Less free memory is worth a warning: the next allocations of a training may fail. */
const scarceShare = 0.5;

/** Whether a GPU computes what the host computes, and what else uses it. */
export function judgeGpuCompute({ uuid, result, nvrtc, users }: ComputingGpu): Finding {
  if (result.kind === 'failure') {
    const line = firstErrorLine(result.stderr);
    const [why, fix] = explainFailure(line ?? result.why, nvrtc);
    return problem(`it does not compute: ${why}`, fix, { uuid });
  }
  const { answer } = result;
  const { name, capability, freeBytes, totalBytes, results, milliseconds } = answer;
  const own = users?.filter(({ gpu }) => gpu === uuid);
  const measured = { ...answer, uuid, users: own };
  const what = `${name} (compute capability ${capability.join('.')}), ${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} free`;
  for (const { what: computation, expected, got } of results) {
    const place = expected.findIndex((value, i) => got[i] !== value);
    if (place < 0) continue;
    return problem(
      `${what}: ${computation} is wrong: element ${place} is ${got[place]}, expected ${expected[place]}`,
      "run the GPU's own diagnosis (dcgmi diag -r 2, nvidia-smi -q -d ECC), and install matching versions of the libraries: " +
        howToInstall(['nvrtc', 'cublasLt', 'cudnn'], ''),
      measured,
    );
  }
  const right = `${listOf(results.map((one) => one.what))} as on the host in ${Math.round(milliseconds)} ms`;
  const used = own === undefined ? '' : `; ${describeUsers(own)}`;
  if (freeBytes < scarceShare * totalBytes) {
    return warning(
      `${what}${used}; ${right}`,
      'end the other processes, or choose another GPU with CUDA_VISIBLE_DEVICES: a training that finds too little memory ends with CUDA_ERROR_OUT_OF_MEMORY',
      measured,
    );
  }
  return ok(`${what}${used}; model.to('cuda') works: ${right}`, measured);
}

const architectures = 'NVRTC 13 compiles for compute capability 7.5 and later; 10.0 and 12.0 need NVRTC 12.8';

function explainFailure(line: string, nvrtc: string): [why: string, fix: string] {
  if (/gpu-architecture|INVALID_OPTION/i.test(line)) {
    return [
      `${line}: NVRTC ${nvrtc} does not compile for this GPU`,
      `use another version of NVRTC (${architectures}): ${howToInstall(['nvrtc'], '12.8')}; RINGRUN_NVRTC_LIBRARY selects the file`,
    ];
  }
  if (/OUT_OF_MEMORY/.test(line)) {
    return [line, 'end the processes that nvidia-smi lists, or choose another GPU with CUDA_VISIBLE_DEVICES'];
  }
  return [
    line,
    'run nvidia-smi to test the driver without ringrun; if it works, reinstall the libraries that this line names',
  ];
}

function describeUsers(users: readonly GpuUser[]): string {
  if (users.length === 0) return 'no other process uses it';
  const each = users.map(({ pid, name, usedBytes }) => {
    const used = usedBytes === undefined ? '' : `, ${formatBytes(usedBytes)}`;
    return `${pid} (${name}${used})`;
  });
  return `also used by ${users.length === 1 ? 'process' : 'processes'} ${each.join(', ')}`;
}

function listOf(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
