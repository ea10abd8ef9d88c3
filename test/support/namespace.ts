import { spawnSync } from 'node:child_process';
import { killAll } from './processes.ts';

/** A network namespace that `ip netns` knows by name: interfaces, addresses and routes that only the processes in it have. */
export class Namespace {
  readonly name: string;

  /** @throws Error when there is one of this name already, or the right to make one is missing. */
  constructor(name: string) {
    run('ip', ['netns', 'add', name]);
    this.name = name;
  }

  /** Carries out commands of `ip`, in one process; the first that fails ends it. */
  ip(...commands: string[]): void {
    run('ip', ['-netns', this.name, '-batch', '-'], `${commands.join('\n')}\n`);
  }

  /** Carries out a command of `tc`. */
  tc(command: string): void {
    run('tc', ['-netns', this.name, ...command.split(' ')]);
  }

  /** Sets a variable of the kernel that each network has for itself, such as `net/ipv4/tcp_congestion_control`. */
  set(variable: string, value: string): void {
    const write = 'echo "$1" > "/proc/sys/$0"';
    run('ip', ['netns', 'exec', this.name, 'sh', '-c', write, variable, value]);
  }

  /**
   * What to start so that `program` runs in here, in a process of the same id, under a host name of its own.
   *
   * @param hosts A file that it sees as /etc/hosts; what is written to it later it sees too.
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

  /** Ends every process in here with SIGKILL. */
  killProcesses(): void {
    const pids = run('ip', ['netns', 'pids', this.name]).split('\n').filter(Boolean);
    killAll(pids.map((pid) => ({ pid: Number(pid) })));
  }

  /** Ends what runs in here, then the namespace with its interfaces. */
  remove(): void {
    this.killProcesses();
    run('ip', ['netns', 'delete', this.name]);
  }
}

/** @throws Error with the command and the program's own words, when it fails. */
function run(program: 'ip' | 'tc', args: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${[program, ...args].join(' ')}: ${error?.message ?? stderr.trim()}\n${input}`);
}
