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

/** @param milliseconds Duration of the probe process: start, load and exit. */
export function judgeAddon(result: ProbeResult<AddonAnswer>, milliseconds: number): Finding {
  if (result.kind === 'answer') {
    return ok(`${result.answer.file || 'the native addon'} loads`, { ...result.answer, milliseconds });
  }
  const { why, stderr } = result;
  if (stderr.includes('NativeUnavailableError')) {
    return problem(
      `no native addon: ${triedOf(stderr)}`,
      'install a C++17 compiler (apt-get install g++; apk add g++ linux-headers; on macOS xcode-select --install) and start again, or set RINGRUN_NATIVE to a binary',
    );
  }
  return problem(
    `a process that loaded the native addon failed: ${why}${stderr && `\n${stderr.split('\n').slice(-3).join('\n')}`}`,
    'compile it on this machine: delete node_modules/@ringrun/native/build and start again',
  );
}

/** The list of attempts in the error's message, whose lines are indented by two. */
function triedOf(stderr: string): string {
  const message = /Tried:\n((?: {2}.*\n)+)/.exec(stderr)?.[1].trimEnd() ?? stderr;
  return message
    .split('\n')
    .map((line) => line.trim())
    .join('\n');
}
