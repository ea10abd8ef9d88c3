import { StoreServer } from '@ringrun/rendezvous';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { DoctorOptions } from '../options.ts';
import { firstErrorLine, runProbe } from '../probe.ts';
import type { ProbeResult } from '../probe.ts';
import type { SharedMemoryAnswer } from '../probes/shared-memory.ts';
import { formatRate, formatMicroseconds } from '../units.ts';

/** Two processes form a group: one creates the memory (memfd_create; shm_open on macOS) and passes it to the other over a Unix socket. */
export async function examineSharedMemory({ timeoutMs }: DoctorOptions): Promise<Finding> {
  const store = await StoreServer.bind({ host: '127.0.0.1', port: 0 }, { limitsStrangers: false });
  try {
    const results = await Promise.all(
      [0, 1].map((rank) =>
        runProbe<SharedMemoryAnswer>('shared-memory', {
          timeoutMs,
          arguments: [store.port, rank, timeoutMs].map(String),
        }),
      ),
    );
    return judgeSharedMemory(results.find(({ kind }) => kind === 'failure') ?? results[0]);
  } finally {
    await store.close();
  }
}

export function judgeSharedMemory(result: ProbeResult<SharedMemoryAnswer>): Finding {
  if (result.kind === 'answer') {
    const { latencyUs, bytesPerSecond } = result.answer;
    return ok(
      `all-reduce of two processes: ${formatMicroseconds(latencyUs)} for 4 B, ${formatRate(bytesPerSecond)} (${memoryOf(process.platform)})`,
      { ...result.answer },
    );
  }
  const line = firstErrorLine(result.stderr) ?? result.why;
  const lack = /has no shared memory: (.*?): use RINGRUN_TRANSPORT/.exec(result.stderr)?.[1];
  if (lack === undefined) {
    return problem(
      `two processes of this machine could not form a group: ${line}`,
      'if the check "addon" failed too, fix it first; otherwise set RINGRUN_TRANSPORT=tcp to train without shared memory',
    );
  }
  return warning(`not available, so processes of one host use TCP: ${lack}`, fixFor(lack));
}

/** How the addon creates shared memory (native/src/base/memory_file_*.cc). */
function memoryOf(platform: NodeJS.Platform): string {
  return platform === 'linux' ? 'memfd; /dev/shm is not used' : 'shm_open';
}

/** Fixes for limits of containers and shells. */
function fixFor(lack: string): string {
  if (/EPERM|ENOSYS|not permitted|not implemented/i.test(lack)) {
    return "allow memfd_create: the container's seccomp profile forbids it (securityContext.seccompProfile.type: RuntimeDefault allows it)";
  }
  if (/EMFILE|ENFILE|too many open files/i.test(lack))
    return 'raise the limit of open files: ulimit -n 65536';
  if (/EFBIG|file too large/i.test(lack))
    return 'remove the limit of file sizes, which also applies to memfd: ulimit -f unlimited';
  return 'raise the memory limit of the container (resources.limits.memory)';
}
