import { StoreServer } from '../../store/server.ts';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { DoctorOptions } from '../options.ts';
import { firstErrorLine, runProbe } from '../probe.ts';
import type { ProbeResult } from '../probe.ts';
import type { SharedMemoryAnswer } from '../probes/shared-memory.ts';
import { formatRate, formatMicroseconds } from '../units.ts';

/** Two processes form a group: one makes the memory (memfd_create) and hands it to the other over a Unix socket, and both compute in it. */
export async function examineSharedMemory({ timeoutMs }: DoctorOptions): Promise<Finding> {
  const store = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
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
      `two processes reduce in it: ${formatMicroseconds(latencyUs)} for 4 B, ${formatRate(bytesPerSecond)} (memfd; /dev/shm is not used)`,
      { ...result.answer },
    );
  }
  const line = firstErrorLine(result.stderr) ?? result.why;
  const lack = /has no shared memory: (.*?): use RINGRUN_TRANSPORT/.exec(result.stderr)?.[1];
  if (lack === undefined) {
    return problem(
      `two processes of this machine do not get together: ${line}`,
      'mend the addon first, if it has a problem too; otherwise RINGRUN_TRANSPORT=tcp does without shared memory',
    );
  }
  return warning(`there is none, so processes of one host use TCP: ${lack}`, fixFor(lack));
}

/** What a container or a shell may forbid. */
function fixFor(lack: string): string {
  if (/EPERM|ENOSYS|not permitted|not implemented/i.test(lack)) {
    return "allow memfd_create: the container's seccomp profile forbids it (securityContext.seccompProfile.type: RuntimeDefault allows it)";
  }
  if (/EMFILE|ENFILE|too many open files/i.test(lack))
    return 'raise the limit of open files: ulimit -n 65536';
  if (/EFBIG|file too large/i.test(lack))
    return 'lift the limit of file sizes, which counts for memory too: ulimit -f unlimited';
  return 'raise the memory limit of the container (resources.limits.memory)';
}
