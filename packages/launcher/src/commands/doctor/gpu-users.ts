import { execFile } from 'node:child_process';

/** A process that computes on a GPU. */
export interface GpuUser {
  /** `GPU-` and a UUID. */
  readonly gpu: string;
  /** In the namespace of nvidia-smi. */
  readonly pid: number;
  readonly name: string;
  /** Undefined where the driver does not report it, such as in containers and on WSL. */
  readonly usedBytes: number | undefined;
}

const columns = 'gpu_uuid,pid,used_memory,process_name';

/** The processes that nvidia-smi reports. Undefined if there is no nvidia-smi, or if it fails or exceeds `timeoutMs`. */
export function readGpuUsers(timeoutMs: number): Promise<readonly GpuUser[] | undefined> {
  return new Promise((resolve) => {
    execFile(
      'nvidia-smi',
      [`--query-compute-apps=${columns}`, '--format=csv,noheader,nounits'],
      { encoding: 'utf8', timeout: timeoutMs, killSignal: 'SIGKILL' },
      (error, stdout) => {
        resolve(error ? undefined : parseGpuUsers(stdout));
      },
    );
  });
}

const bytesOfMib = 2 ** 20;

/** Lines such as `GPU-8f1c…, 4242, 1520, /usr/bin/python3`, with memory in MiB or `[N/A]`. Other lines are ignored. */
export function parseGpuUsers(csv: string): GpuUser[] {
  return csv.split('\n').flatMap((line) => {
    const fields = /^(\S+), (\d+), ([^,]+), (.+)$/.exec(line.trim());
    if (fields === null) return [];
    const [, gpu, pid, used, name] = fields;
    const usedBytes = /^\d+$/.test(used) ? Number(used) * bytesOfMib : undefined;
    return [{ gpu, pid: Number(pid), name, usedBytes }];
  });
}
