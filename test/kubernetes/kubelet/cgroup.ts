import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const mount = '/sys/fs/cgroup';
const isUnified = existsSync(join(mount, 'cgroup.controllers'));
const periodUs = 100_000;

export interface Limits {
  /** CPUs, possibly a fraction. Undefined: no limit. */
  cpus: number | undefined;
  /** Undefined: no limit. */
  memoryBytes: number | undefined;
}

/** The control group of a container: its limits and the count of its processes that ran out of memory. */
export class Cgroup {
  readonly #folders: readonly string[];

  constructor(name: string, { cpus, memoryBytes }: Limits) {
    this.#folders = (isUnified ? [''] : ['cpu', 'memory']).map((controller) => join(mount, controller, name));
    if (isUnified) writeFileSync(join(mount, 'cgroup.subtree_control'), '+cpu +memory');
    for (const folder of this.#folders) mkdirSync(folder);
    if (cpus !== undefined) {
      const quotaUs = Math.round(cpus * periodUs);
      if (isUnified) this.#set('cpu.max', `${quotaUs} ${periodUs}`);
      else this.#set('cpu.cfs_quota_us', String(quotaUs));
    }
    if (memoryBytes !== undefined) {
      this.#set(isUnified ? 'memory.max' : 'memory.limit_in_bytes', String(memoryBytes));
    }
  }

  /** Shell commands that move the shell into this group. */
  get joinCommands(): string {
    return this.#folders.map((folder) => `echo $$ > ${folder}/cgroup.procs`).join('\n');
  }

  /** Shell commands that mount this group below `root`, as a process in it and in a cgroup namespace sees it. */
  static mountCommands(root: string): string {
    if (isUnified) return `mount -t cgroup2 cgroup ${root}${mount}`;
    const mounts = ['cpu', 'memory'].map(
      (name) => `mkdir ${root}${mount}/${name} && mount -t cgroup -o ${name} cgroup ${root}${mount}/${name}`,
    );
    return [`mount -t tmpfs -o mode=755 tmpfs ${root}${mount}`, ...mounts].join('\n');
  }

  /** Processes that the kernel has killed because the group had reached its memory limit. */
  get oomKills(): number {
    const file = isUnified ? 'memory.events' : 'memory.oom_control';
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(this.#pathOf(file), 'utf8'))?.[1] ?? 0);
  }

  /** Removes the group, whose processes must have ended. */
  remove(): void {
    for (const folder of this.#folders) rmdirSync(folder);
  }

  #set(file: string, value: string): void {
    writeFileSync(this.#pathOf(file), value);
  }

  #pathOf(file: string): string {
    return join(
      this.#folders.find((folder) => existsSync(join(folder, file)))!,
      file,
    );
  }
}
