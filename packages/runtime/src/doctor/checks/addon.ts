import { ok, problem } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { DoctorOptions } from '../options.ts';
import { runProbe } from '../probe.ts';
import type { ProbeResult } from '../probe.ts';
import type { AddonAnswer } from '../probes/addon.ts';

export async function examineAddon({ timeoutMs }: DoctorOptions): Promise<Finding> {
  const startedAt = performance.now();
  const result = await runProbe<AddonAnswer>('addon', { timeoutMs });
  return judgeAddon(result, performance.now() - startedAt);
}

/** @param milliseconds that a process took to start, to load it, and to end. */
export function judgeAddon(result: ProbeResult<AddonAnswer>, milliseconds: number): Finding {
  if (result.kind === 'answer') {
    return ok(`${result.answer.file || 'the native addon'} loads`, { ...result.answer, milliseconds });
  }
  const { why, stderr } = result;
  if (stderr.includes('NativeUnavailableError')) {
    return problem(
      `no native addon: ${triedOf(stderr)}`,
      'install a C++17 compiler (apt-get install g++; apk add g++ linux-headers) and start again, or name a binary in RINGRUN_NATIVE',
    );
  }
  return problem(
    `a process that loads the native addon does not get far: ${why}${stderr && `\n${stderr.split('\n').slice(-3).join('\n')}`}`,
    'compile it on this machine: delete node_modules/@ringrun/native/build and start again',
  );
}

/** The list of what was tried, out of the error's message; each of its lines is indented by two. */
function triedOf(stderr: string): string {
  const message = /Tried:\n([\s\S]*?)\nTo mend it/.exec(stderr)?.[1] ?? stderr;
  return message
    .split('\n')
    .map((line) => line.trim())
    .join('\n');
}
