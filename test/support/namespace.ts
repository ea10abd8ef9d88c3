import { spawnSync } from 'node:child_process';
import { killAll } from './processes.ts';

/** A named network namespace (`ip netns`), with its own interfaces, addresses and routes. */
export class Namespace {
  readonly name: string;

  /** @throws Error if the name exists or the process may not create namespaces. */
  constructor(name: string) {
    run('ip', ['netns', 'add', name]);
    this.name = name;
  }

  /** Runs commands of `ip` in one process, up to the first failure. */
  ip(...commands: string[]): void {
    run('ip', ['-netns', this.name, '-batch', '-'], `${commands.join('\n')}\n`);
  }

  /** Runs a command of `tc`. */
  tc(command: string): void {
    run('tc', ['-netns', this.name, ...command.split(' ')]);
  }

  /** Runs a program in it. */
  exec(...command: string[]): void {
    run('ip', ['netns', 'exec', this.name, ...command]);
  }

  /** Sets a kernel variable of this namespace, such as `net/ipv4/tcp_congestion_control`. */
  set(variable: string, value: string): void {
    const write = 'echo "$1" > "/proc/sys/$0"';
    run('ip', ['netns', 'exec', this.name, 'sh', '-c', write, variable, value]);
  }

  /**
   * The command that runs `program` in this namespace, with the same process id and its own host name.
   *
   * @param hosts A file mounted as /etc/hosts; later changes are visible.
   */
  commandLine(
    { hostname, hosts }: { hostname: string; hosts: string },
    program: string,
    args: readonly string[],
  ): [string, string[]] {
    const settle =
      'echo "$0" > /proc/sys/kernel/hostname && mount --bind "$1" /etc/hosts && shift && exec "$@"';
    const settled = ['unshare', '--uts', '--mount', 'sh', '-c', settle, hostname, hosts, program, ...args];
    return ['ip', ['netns', 'exec', this.name, ...settled]];
  }

  /** Kills every process in the namespace with SIGKILL. */
  killProcesses(): void {
    const pids = run('ip', ['netns', 'pids', this.name]).split('\n').filter(Boolean);
    killAll(pids.map((pid) => ({ pid: Number(pid) })));
  }

  /** Kills the processes in the namespace, then deletes it with its interfaces. */
  remove(): void {
    this.killProcesses();
    run('ip', ['netns', 'delete', this.name]);
  }
}

/** @throws Error with the command and its output if it fails. */
function run(program: 'ip' | 'tc', args: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${[program, ...args].join(' ')}: ${error?.message ?? stderr.trim()}\n${input}`);
}
