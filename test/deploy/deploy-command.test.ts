import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { runDeploy } from '../../packages/launcher/src/commands/deploy/main.ts';
import { manifestsOf } from '../../packages/launcher/src/commands/deploy/manifests.ts';
import { parseDeployment } from '../../packages/launcher/src/commands/deploy/options.ts';
import { parseCommandLine } from '../../packages/launcher/src/options/command-line.ts';
import { node } from '../support/command.ts';
import { repository } from '../support/environment.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { parseManifests, podsOf } from './manifests.ts';
import { problemsOf, schemasProblem } from './schemas.ts';
import type { Manifest } from './schemas.ts';

const image = ['--image', 'registry.example/team/train:1'];

/** A folder with `train.ts`, which becomes an image. */
function folderWithScript(name = 'digits'): string {
  const folder = join(temporaryFolder(), name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'train.ts'), '');
  return folder;
}

const ringrun = (folder: string, args: readonly string[]) =>
  node([join(repository, 'launch.js'), 'deploy', ...args], { cwd: folder }).ended;

test.each([
  ['train.ts', {}, true],
  ['train.ts', { tsx: '^4.20.0' }, false],
  ['train.js', {}, false],
])(
  'the Dockerfile of %s with the dependencies %j installs tsx: %s',
  async (script, dependencies, installs) => {
    const folder = folderWithScript();
    writeFileSync(join(folder, script), '');
    const manifest = {
      dependencies: { ringrun: '0.1.0', ...dependencies },
      devDependencies: { tsx: '^4.20.0' },
    };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    expect((await ringrun(folder, [...image, script])).code).toBe(0);
    const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8');
    expect(dockerfile.includes('RUN npm install --no-save --omit=dev tsx@4\n')).toBe(installs);
  },
);

/** The manifests of a command by their files, as kubectl reads them. */
function manifestsFor(args: readonly string[]): Record<string, Manifest[]> {
  const texts = Object.entries(manifestsOf(parseDeployment([...image, ...args], '/home/me/digits')));
  return Object.fromEntries(texts.map(([name, text]) => [name, parseManifests(text, name)]));
}

const everything = [
  ...['--nodes', '3', '--gpus', '2', '--cpu', '8', '--memory', '16Gi', '--nproc-per-node', '2'],
  // YAML reads these names as booleans and numbers, unless they are quoted.
  ...['--name', 'no', '--namespace', '123', '--volume', 'on', '--secret', 'y', '--service-account', 'off'],
  ...['--image-pull-secret', 'true', '--image-pull-secret', 'b', '--toleration', 'on=1:NoExecute'],
  ...['--node-selector', 'true=1', '--env', 'NO=yes # no comment', '--env', 'TEXT=a: "b"\n$(HOME)'],
  ...['train.ts', '--name', 'x y', '- "é"\n', '$(HOME)'],
];

const commands: [string, string[]][] = [
  ['the least', ['train.ts']],
  ['three nodes', ['--nodes', '3', 'train.ts', '--epochs', '5']],
  ['every option', everything],
];

describe.each(['PyTorchJob', 'TrainJob'])('%s', (kind) => {
  test.skipIf(schemasProblem).each(commands)(
    `%s: valid by the operators' schemas${schemasProblem ? `: skipped, ${schemasProblem}` : ''}`,
    (_, args) => {
      const manifests = Object.values(manifestsFor(['--kind', kind, ...args])).flat();
      expect(manifests.map((one) => one.kind)).toEqual(
        kind === 'PyTorchJob'
          ? ['PyTorchJob', 'NetworkPolicy']
          : ['TrainingRuntime', 'TrainJob', 'NetworkPolicy'],
      );
      for (const manifest of manifests) expect(problemsOf(manifest)).toEqual([]);
    },
  );

  test('every option is in the pods as it was passed', () => {
    const { 'job.yaml': documents, 'network-policy.yaml': policies } = manifestsFor([
      '--kind',
      kind,
      ...everything,
    ]);
    for (const { metadata } of [...documents, ...policies])
      expect(metadata).toEqual({ name: 'no', namespace: '123' });
    const pods = documents.flatMap((document) => podsOf(document));
    expect(pods).toHaveLength(kind === 'PyTorchJob' ? 2 : 1);
    const job = documents.at(-1)!.spec as { trainer?: Record<string, unknown> };
    for (const pod of pods) {
      const { containers, ...spec } = pod.spec;
      expect(spec).toMatchObject({
        serviceAccountName: 'off',
        imagePullSecrets: [{ name: 'true' }, { name: 'b' }],
        nodeSelector: { true: '1' },
        tolerations: [
          { key: 'sku', operator: 'Equal', value: 'gpu', effect: 'NoSchedule' },
          { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' },
          { key: 'on', operator: 'Equal', value: '1', effect: 'NoExecute' },
        ],
        securityContext: { runAsNonRoot: true, runAsUser: 1000 },
        terminationGracePeriodSeconds: 45,
      });
      const { trainer } = job;
      const container = { ...containers[0], ...trainer };
      const resources = container.resources ?? trainer?.['resourcesPerNode'];
      expect(container.image).toBe('registry.example/team/train:1');
      // Kubernetes turns `$$(` into `$(`.
      expect(container.args).toEqual(['train.ts', '--name', 'x y', '- "é"\n', '$$(HOME)']);
      expect(container.env).toEqual([
        { name: 'RINGRUN_SECRET', valueFrom: { secretKeyRef: { name: 'y', key: 'secret' } } },
        { name: 'NO', value: 'yes # no comment' },
        { name: 'TEXT', value: 'a: "b"\n$$(HOME)' },
      ]);
      expect(resources).toEqual({
        requests: { cpu: '8', memory: '16Gi' },
        limits: { cpu: '8', memory: '16Gi', 'nvidia.com/gpu': '2' },
      });
      expect(container.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(['/volume', '/dev/shm']);
    }
  });

  test("the operator's environment starts as many nodes as --nodes", () => {
    for (const nodes of [1, 3]) {
      const { 'job.yaml': documents } = manifestsFor([
        '--kind',
        kind,
        '--nodes',
        String(nodes),
        'train.ts',
        '--x',
      ]);
      const { pytorchReplicaSpecs: replicas, trainer } = documents.at(-1)!.spec as {
        pytorchReplicaSpecs?: Record<string, { replicas: number }>;
        trainer?: { numNodes: number; args: string[] };
      };
      const counts = replicas && Object.values(replicas).map((one) => one.replicas);
      expect(counts ?? [trainer?.numNodes]).toEqual(counts && nodes > 1 ? [1, nodes - 1] : [nodes]);
      const args = trainer?.args ?? podsOf(documents[0])[0].spec.containers[0].args!;
      const { options } = parseCommandLine(args, { PET_NNODES: String(nodes), PET_NODE_RANK: '0' });
      expect(options).toMatchObject({
        nodes: { min: nodes, max: nodes },
        program: { kind: 'script', name: 'train.ts', arguments: ['--x'] },
      });
    }
  });
});

test('writes the files, and prints the commands that build, push and apply them', async () => {
  const folder = folderWithScript('My Digits');
  const { code, stdout, stderr } = await ringrun(folder, [
    ...image,
    '--nodes=3',
    './train.ts',
    '--epochs',
    '5',
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^wrote Dockerfile\nwrote \.dockerignore\nwrote k8s\/job\.yaml\nwrote k8s\/network-policy\.yaml\n/,
  );
  for (const command of [
    'docker build -t registry.example/team/train:1 .',
    'docker push registry.example/team/train:1',
    'kubectl create secret generic ringrun-secret ',
    'kubectl apply -f k8s',
    'kubectl logs -f my-digits-master-0',
  ])
    expect(stdout).toContain(`\n  ${command}`);
  expect(readdirSync(folder).sort()).toEqual(['.dockerignore', 'Dockerfile', 'k8s', 'train.ts']);
  expect(parse(readFileSync(join(folder, 'k8s/job.yaml'), 'utf8'))).toMatchObject({
    metadata: { name: 'my-digits' },
  });
});

test('replaces manifests with --force only, and never a Dockerfile', async () => {
  const folder = folderWithScript();
  writeFileSync(join(folder, 'Dockerfile'), 'FROM mine\n');
  mkdirSync(join(folder, 'k8s'));
  writeFileSync(join(folder, 'k8s/job.yaml'), 'mine');
  const refused = await ringrun(folder, [...image, 'train.ts']);
  expect(refused).toMatchObject({
    code: 1,
    stdout: '',
    stderr:
      'ringrun: deploy: k8s/job.yaml exists, so nothing was written. Add --force to replace manifests, or choose another --output.\n',
  });
  expect(readdirSync(join(folder, 'k8s'))).toEqual(['job.yaml']);
  expect(existsSync(join(folder, '.dockerignore'))).toBe(false);

  const forced = await ringrun(folder, [...image, '--force', 'train.ts']);
  expect(forced.code).toBe(0);
  expect(forced.stdout).toContain('The Dockerfile was kept.');
  expect(readFileSync(join(folder, 'Dockerfile'), 'utf8')).toBe('FROM mine\n');
  expect(readFileSync(join(folder, 'k8s/job.yaml'), 'utf8')).toContain('kind: PyTorchJob');
});

test.each<[args: string[], error: RegExp]>([
  [['train.ts'], /required option '--image <name>' not specified/],
  [[...image], /missing required argument 'script'/],
  [
    [...image, 'other.ts'],
    /there is no script other\.ts in .*\. Run the command in the folder of the script\./,
  ],
  [[...image, '../train.ts'], /expected a script in .*, got \.\.\/train\.ts\./],
  [[...image, '--output', 'train.ts', 'train.ts'], /--output: expected a folder, got the file train\.ts/],
  [[...image, '--kind', 'Job', 'train.ts'], /'Job' is invalid\. Expected PyTorchJob or TrainJob\./],
  [[...image, '--memory', '4GB', 'train.ts'], /'4GB' is invalid\. Expected .* Try 4Gi\./],
  [[...image, '--node', '3', 'train.ts'], /unknown option '--node'\n\(Did you mean --nodes\?\)/],
  [[...image, '--name', 'a'.repeat(60), 'train.ts'], /expected at most 54 characters.*Shorten it\./],
  [[...image, '--nproc-per-node', 'gpu', 'train.ts'], /needs GPUs\. Add --gpus/],
  [[...image, 'train.ts', '--backend', 'nccl'], /--backend nccl of the script needs GPUs\. Add --gpus 1\./],
  [
    [...image, '--gpus', '2', '--nproc-per-node', '4', 'train.ts', '--backend=nccl'],
    /--nproc-per-node: expected at most 2, the GPUs of a node, .*, got 4\. Use auto, or raise --gpus\./,
  ],
  [[...image, '--kind', 'TrainJob', '--nproc-per-node', 'cpu', 'train.ts'], /takes a number or auto/],
  [
    [...image, '--env', 'RINGRUN_SECRET=x', 'train.ts'],
    /would write the secret into a manifest\. Use --secret/,
  ],
  [[...image, '--env', 'AWS_SECRET_ACCESS_KEY=x', 'train.ts'], /would write a credential into a manifest\./],
])('%j is rejected with the fix, and writes nothing', (args, error) => {
  const folder = folderWithScript();
  const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const thrown = messageOf(() => runDeploy(args, folder));
    // commander prints its errors and throws them.
    expect([...printed.mock.calls.map(([text]) => String(text)), thrown].join('')).toMatch(error);
  } finally {
    printed.mockRestore();
  }
  expect(readdirSync(folder)).toEqual(['train.ts']);
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}

test('a mistake ends the command with code 2 and one line for the terminal', async () => {
  const folder = folderWithScript();
  expect(await ringrun(folder, [...image, '--cpu', 'two', 'train.ts'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr:
      "ringrun deploy: option '--cpu <quantity>' argument 'two' is invalid. Expected a quantity of CPUs above 0, such as 2, 1.5 or 500m.\nSee ringrun deploy --help.\n",
  });
  expect(await ringrun(folder, [...image, 'other.ts'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `ringrun: deploy: there is no script other.ts in ${folder}. Run the command in the folder of the script.\n`,
  });
});
