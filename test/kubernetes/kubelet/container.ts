import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Cgroup } from './cgroup.ts';
import type { Limits } from './cgroup.ts';
import type { Image } from './images.ts';
import type { Log } from './log.ts';

/** A folder or file of this machine in the container. */
export interface Mount {
  from: string;
  /** Path in the container. */
  to: string;
  isReadOnly: boolean;
}

export interface Identity {
  user: number;
  group: number;
  /** Further groups, such as the pod's fsGroup. */
  groups: number[];
  hasCapabilities: boolean;
}

export interface ContainerOptions {
  /** Name of its control group, unique on this machine. */
  id: string;
  image: Image;
  /** Name of the pod's network namespace. */
  network: string;
  hostname: string;
  command: string[];
  environment: ReadonlyMap<string, string>;
  workingDirectory: string;
  identity: Identity;
  mounts: Mount[];
  hasReadOnlyRoot: boolean;
  limits: Limits;
  /** An empty folder for its files. */
  folder: string;
  log: Log;
}

export interface ContainerEnd {
  /** 128 + the signal's number if a signal ended process 1. */
  exitCode: number;
  isOutOfMemory: boolean;
}

/** Size of /dev/shm, as container runtimes set it. */
const sharedMemory = '64m';

/** A process with its own files, processes, host name, network and limits. */
export class RunningContainer {
  readonly ended: Promise<ContainerEnd>;
  readonly #options: ContainerOptions;
  /** The shell whose child is process 1 of the container. */
  readonly #parent: number;

  constructor(options: ContainerOptions) {
    this.#options = options;
    const cgroup = new Cgroup(options.id, options.limits);
    const script = join(options.folder, 'start.sh');
    writeFileSync(script, setup(options));
    // The first child of a shell in this state is process 1 of the new namespace. `unshare --fork` would lose the exit
    // status of a process that was killed.
    const unshare = `unshare --mount --uts --ipc --pid --cgroup sh -c 'sh -e "$@"; exit $?'`;
    const child = spawn(
      'sh',
      [
        '-ec',
        `${cgroup.joinCommands}\nexec nsenter --net=/run/netns/${options.network} ${unshare} sh "$@"`,
        'sh',
        script,
        ...options.command,
      ],
      { env: Object.fromEntries(options.environment), stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#parent = child.pid!;
    const recorded = Promise.all([options.log.record(child.stdout), options.log.record(child.stderr)]);
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => {
        const exitCode = code ?? 128 + constants.signals.SIGKILL;
        const isOutOfMemory = cgroup.oomKills > 0;
        void recorded.then(() => {
          cgroup.remove();
          options.log.end();
          resolve({ exitCode, isOutOfMemory });
        });
      });
    });
  }

  /** Its process 1, as this machine numbers it; undefined before it has started or after it has ended. */
  get pid(): number | undefined {
    try {
      const children = readFileSync(`/proc/${this.#parent}/task/${this.#parent}/children`, 'utf8');
      return Number(children.trim()) || undefined;
    } catch {
      return undefined;
    }
  }

  /** Sends a signal to process 1. SIGKILL ends all processes. */
  kill(signal: NodeJS.Signals): void {
    const pid = this.pid ?? (signal === 'SIGKILL' ? this.#parent : undefined);
    if (pid !== undefined) process.kill(pid, signal);
  }

  /** A command line that runs `command` in the container, as the same user and with the same environment. */
  execCommand(command: readonly string[]): { args: string[]; env: Record<string, string> } {
    const { environment, identity, workingDirectory } = this.#options;
    const inside = ['sh', '-c', 'cd "$0" && exec "$@"', workingDirectory, ...dropTo(identity), ...command];
    const namespaces = ['--mount', '--uts', '--ipc', '--pid', '--net', '--cgroup', '--root', '--wd'];
    return {
      args: ['nsenter', '--target', String(this.pid), ...namespaces, ...inside],
      env: Object.fromEntries(environment),
    };
  }
}

/** The shell script that builds the container's files, in its namespaces, and becomes its command. */
function setup(options: ContainerOptions): string {
  const { folder, image, mounts, hasReadOnlyRoot, hostname, identity, workingDirectory } = options;
  const root = join(folder, 'root');
  const inRoot = (path: string): string => `"${root}$(chroot ${root} realpath -m ${quote(path)})"`;
  const bind = ({ from, to, isReadOnly }: Mount): string => `
if [ -d ${quote(from)} ]; then chroot ${root} mkdir -p ${quote(to)}
else chroot ${root} sh -c 'mkdir -p "$(dirname "$0")" && { [ -e "$0" ] || : > "$0"; }' ${quote(to)}; fi
mount --bind ${quote(from)} ${inRoot(to)}
${isReadOnly ? `mount -o remount,bind,ro ${inRoot(to)}` : ''}`;
  const folders = image.folders.map(
    (path) => `install -d -o ${image.user} -g ${image.user} ${root}${quote(path)}`,
  );
  const scripts = Object.entries(image.scripts).map(
    ([path, text]) =>
      `rm -f ${root}${quote(path)} && printf %s ${quote(text)} > ${root}${quote(path)} && chmod 755 ${root}${quote(path)}`,
  );
  const binds = Object.entries(image.binds).map(([to, from]) => bind({ from, to, isReadOnly: true }));
  return `
mkdir ${folder}/upper ${folder}/work ${root}
mount -t overlay -o lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work overlay ${root}
mount -t proc proc ${root}/proc
mount -t sysfs sysfs ${root}/sys
${Cgroup.mountCommands(root)}
mount -t tmpfs -o mode=755 tmpfs ${root}/dev
for device in null zero full random urandom tty; do
  : > ${root}/dev/$device
  mount --bind /dev/$device ${root}/dev/$device
done
ln -s /proc/self/fd ${root}/dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -s /proc/self/fd/\${number%:*} ${root}/dev/\${number#*:}; done
mkdir ${root}/dev/shm
mount -t tmpfs -o mode=1777,size=${sharedMemory} tmpfs ${root}/dev/shm
mount -t tmpfs -o mode=1777 tmpfs ${root}/tmp
mount -t tmpfs -o mode=755 tmpfs ${root}/run
${[...folders, ...scripts, ...binds, ...mounts.map(bind)].join('\n')}
${hasReadOnlyRoot ? `mount -o remount,ro ${root}` : ''}
hostname ${quote(hostname)}
exec chroot ${root} sh -c 'cd "$0" && exec "$@"' ${quote(workingDirectory)} ${dropTo(identity).join(' ')} "$@"
`;
}

/** The command before a command that makes it run as a user. */
function dropTo({ user, group, groups, hasCapabilities }: Identity): string[] {
  const bounding = hasCapabilities ? [] : ['--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'];
  const further = groups.length > 0 ? [`--groups=${groups.join()}`] : ['--clear-groups'];
  return ['setpriv', `--reuid=${user}`, `--regid=${group}`, ...further, ...bounding];
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
