import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostsProblem } from '../support/hosts-problem.ts';

/** Versions of the programs, which are built from their Go modules. */
export const versions = {
  kubernetes: '1.33.13',
  trainingOperator: '1.9.3',
  trainer: '2.3.0',
  jobset: '0.12.0',
} as const;

/** Newest Go that one of them requires. */
const goVersion = [1, 26];

const modules = {
  trainingOperator: `github.com/kubeflow/training-operator@v${versions.trainingOperator}`,
  trainer: `github.com/kubeflow/trainer/v2@v${versions.trainer}`,
  jobset: `sigs.k8s.io/jobset@v${versions.jobset}`,
} as const;

const kubernetesPrograms = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
] as const;

export type Program =
  | (typeof kubernetesPrograms)[number]
  | 'training-operator'
  | 'trainer-controller-manager'
  | 'jobset-controller-manager';

const versionOf: Record<Program, string> = {
  'kube-apiserver': versions.kubernetes,
  'kube-controller-manager': versions.kubernetes,
  'kube-scheduler': versions.kubernetes,
  kubectl: versions.kubernetes,
  'training-operator': versions.trainingOperator,
  'trainer-controller-manager': versions.trainer,
  'jobset-controller-manager': versions.jobset,
};

/** The programs, and the sources of the operators with their manifests. */
export interface Parts {
  path(program: Program): string;
  sources: Record<keyof typeof modules, string>;
}

/** Why this machine cannot run a cluster; undefined if it can. */
export function kubernetesProblem(): string | undefined {
  const problem = hostsProblem();
  if (problem !== undefined) return problem;
  for (const [program, hint] of [
    ['etcd', 'Debian: apt-get install etcd-server'],
    ['openssl', 'Debian: apt-get install openssl'],
    ['setpriv', 'Debian: apt-get install util-linux'],
    ['go', `Go ${goVersion.join('.')} or newer`],
  ]) {
    if (spawnSync(program, ['--help']).error) return `there is no program '${program}' (${hint})`;
  }
  const found = /go(\d+)\.(\d+)/.exec(spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' }).stdout);
  const [major, minor] = (found ?? []).slice(1).map(Number);
  if (major < goVersion[0] || minor < goVersion[1]) {
    return `Go ${goVersion.join('.')} or newer is needed, this is ${found?.[0]}`;
  }
  return overlayProblem();
}

/** Containers have the files of this machine below their own layer. */
function overlayProblem(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-overlay-'));
  const script = `cd ${folder} && mkdir upper work root && mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root`;
  const { status, stderr } = spawnSync('unshare', ['--mount', 'sh', '-ec', script], { encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true });
  return status === 0 ? undefined : `a file system of type overlay cannot be mounted: ${stderr.trim()}`;
}

/** Builds the programs that are not in the cache: about 10 minutes on two processors, some seconds afterwards. */
export function buildParts(): Parts {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'ringrun/kubernetes');
  const path = (program: Program): string => join(folder, `${program}-${versionOf[program]}`);
  mkdirSync(folder, { recursive: true });
  const sources = {
    trainingOperator: download(modules.trainingOperator).Dir,
    trainer: download(modules.trainer).Dir,
    jobset: download(modules.jobset).Dir,
  };
  const build = (program: Program, cwd: string, packageName: string): void => {
    if (existsSync(path(program))) return;
    console.error(`building ${program} ${versionOf[program]}`);
    go(cwd, 'build', '-ldflags=-s -w', '-o', path(program), packageName);
  };
  build('training-operator', sources.trainingOperator, './cmd/training-operator.v1');
  build('trainer-controller-manager', sources.trainer, './cmd/trainer-controller-manager');
  build('jobset-controller-manager', sources.jobset, '.');
  const missing = kubernetesPrograms.filter((program) => !existsSync(path(program)));
  if (missing.length > 0) {
    const project = kubernetesModule();
    go(project, 'mod', 'edit', ...kubernetesPrograms.map((name) => `-tool=k8s.io/kubernetes/cmd/${name}`));
    go(project, 'mod', 'tidy');
    for (const program of missing) build(program, project, `k8s.io/kubernetes/cmd/${program}`);
    rmSync(project, { recursive: true });
  }
  return { path, sources };
}

/**
 * A Go module that depends on Kubernetes, which cannot be a dependency directly: its go.mod replaces its libraries by
 * folders that its module does not contain. They are published as v0.x of the same number.
 */
function kubernetesModule(): string {
  const { GoMod } = download(`k8s.io/kubernetes@v${versions.kubernetes}`);
  const libraryVersion = `v0.${versions.kubernetes.slice(2)}`;
  const { Go, Replace } = JSON.parse(go(tmpdir(), 'mod', 'edit', '-json', GoMod)) as {
    Go: string;
    Replace: { Old: { Path: string } }[];
  };
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-kubernetes-'));
  const lines = [
    'module ringrun/kubernetes',
    `go ${Go}`,
    `require k8s.io/kubernetes v${versions.kubernetes}`,
    ...Replace.map(({ Old: { Path } }) => `replace ${Path} => ${Path} ${libraryVersion}`),
  ];
  writeFileSync(join(folder, 'go.mod'), lines.join('\n'));
  return folder;
}

function download(module: string): { Dir: string; GoMod: string } {
  return JSON.parse(go(tmpdir(), 'mod', 'download', '-json', module)) as { Dir: string; GoMod: string };
}

/** @throws Error with the command and its output if it fails. */
function go(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('go', args, { cwd, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (status === 0) return stdout;
  throw new Error(
    `go ${args.join(' ')} failed in ${cwd}:\n${stdout}${stderr.split('\n').slice(-20).join('\n')}`,
  );
}
