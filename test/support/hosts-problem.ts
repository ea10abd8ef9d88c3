import { spawnSync } from 'node:child_process';

/** Kernel features that hosts.ts needs, tried in a namespace that ends with the shell. */
const trial = `
  ip link add name one type veth peer name two
  ip link add name switch type bridge
  tc qdisc add dev one root tbf rate 1gbit burst 128kb latency 10ms
  mount --bind /etc/hosts /etc/hosts`;

/**
 * Why this machine cannot build hosts as network namespaces; undefined if it can. Does not use hosts.ts, so a mistake
 * there fails a test instead of skipping it.
 */
export function hostsProblem(): string | undefined {
  if (process.platform !== 'linux') return `network namespaces are Linux's, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const missing = ['ip', 'tc', 'unshare'].find((program) => spawnSync(program, ['--version']).error);
  if (missing !== undefined) return `there is no program '${missing}' (packages iproute2, util-linux)`;
  return failureOf('unshare', ['--net', '--uts', '--mount', 'sh', '-ec', trial]) ?? namingProblem();
}

/** Some containers may create namespaces but not mount them, which `ip netns` requires. */
function namingProblem(): string | undefined {
  const name = `ringrun-${process.pid}-trial`;
  const problem = failureOf('ip', ['netns', 'add', name]);
  return problem ?? failureOf('ip', ['netns', 'delete', name]);
}

function failureOf(program: string, args: readonly string[]): string | undefined {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? undefined : `${program} ${args.slice(0, 2).join(' ')} failed: ${stderr.trim()}`;
}
