// The files that `ringrun deploy` lets into an image, by its .dockerignore and by a builder.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ignoredBy } from '../../packages/launcher/src/commands/deploy/dockerignore.ts';
import {
  codeEndings,
  results,
  secrets,
  settingsEndings,
} from '../../packages/launcher/src/commands/deploy/image-files.ts';
import { node } from '../support/command.ts';
import { markdownPages } from '../support/docs/pages.ts';
import { environmentWith, repository } from '../support/environment.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Code and settings of a training. `src/secret` and `data` are folders of code. */
const needed = [
  ...['train.ts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tokenizer.json', 'config/run.yaml'],
  ...['src/model.ts', 'src/deep/er/layer.js', 'src/secret/keys.ts', 'data/load.ts', 'native/kernel.node'],
];

/** Files of other tools, beside those that the pages name. */
const others = [
  ...[
    '.env',
    '.env.production',
    'sub/.env',
    'prod.env',
    '.npmrc',
    '.netrc',
    '.aws/credentials',
    '.kube/config',
  ],
  ...[
    '.git/config',
    '.ssh/id_rsa',
    'id_ed25519',
    'kubeconfig',
    'job-secret',
    'tls/server.key',
    'tls/server.pem',
  ],
  ...['config/password.json', 'src/api-token.json', 'service-account.json', 'report.20261126.1.0.001.json'],
  ...['core.4711', 'core', 'Heap.20261126.heapsnapshot', 'ringrun.secret.old', 'notes.txt'],
  ...['data/train-images-idx3-ubyte', 'data/annotations.json', 'data/labels.csv', 'photos/train/cat/1.jpg'],
  ...['checkpoints/checkpoint-000001-step-5/manifest.json', 'checkpoints/writer.lock'],
  ...[
    'logs/none_x/attempt_0/0/figures.json',
    'logs/none_x/attempt_0/0/stdout.log',
    'logs/none_x/events.json',
  ],
  ...['logs/events.out.tfevents.1764190800.host.7', 'node_modules/ringrun/index.js', 'model.onnx.data'],
];

const inCommands = [/>\s*([\w./-]+)/g, /--(?:secret-file|log-dir|dir|profile|output)[= ]([\w./-]+)/g];
const inCode = [
  /\b(?:dir|profile|location|credentials_file): '?([\w./-]+)/g,
  /\b(?:writeFile|loadSafetensors|loadImageFolder|importOnnx)\('([\w./-]+)'/g,
];

/** Files and folders that the documentation creates or reads in the reader's folder. */
function filesOfPages(): string[] {
  const pages = markdownPages().filter(({ path }) => path.startsWith('docs/') || path === 'README.md');
  const found = pages
    .flatMap(({ snippets, setups }) => [...snippets, ...setups])
    .filter(({ language }) => language !== 'text')
    .flatMap(({ language, code }) => {
      const places = language === 'sh' ? inCommands : inCode;
      return places.flatMap((place) => [...code.matchAll(place)]);
    });
  return [...new Set(found.map(([, name]) => name))].filter((name) => /^[a-z]/.test(name));
}

const named = filesOfPages().map((path) => (extname(path) === '' ? `${path}/part-0.bin` : path));

/** A folder with all of these files. */
function userFolder(): string {
  const folder = join(temporaryFolder(), 'digits');
  for (const path of [...needed, ...others, ...named]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), path.endsWith('.json') ? '{}' : '');
  }
  return folder;
}

const folder = userFolder();
const baseImage = 'localhost/base:1';

async function deploy(...args: string[]): Promise<string> {
  const all = [join(repository, 'launch.js'), 'deploy', '--image', 'registry.example/train:1', ...args];
  const { code, stdout, stderr } = await node(all, { cwd: folder }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Files as paths relative to the folder, without folders. */
const filesIn = (root: string) =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();

const sent = () => {
  const isIgnored = ignoredBy(readFileSync(join(folder, '.dockerignore'), 'utf8'));
  return filesIn(folder).filter((path) => !isIgnored(path));
};

/* The order matters: each test deploys the same folder again. */
describe('a folder with every file that the pages name', () => {
  test('the pages name files', () => {
    expect(named).toEqual(
      expect.arrayContaining([
        ...[
          'ringrun.secret',
          'dashboard.token',
          'trace.json',
          'mnist.onnx',
          'train.bin',
          'resnet18.safetensors',
        ],
        ...['logs/part-0.bin', 'checkpoints/part-0.bin'],
      ]),
    );
  });

  test('code and settings are in the image, and the output lists both kinds', async () => {
    const stdout = await deploy('--base-image', baseImage, 'train.ts');
    expect(sent()).toEqual([...needed].sort());
    expect(stdout).toMatch(
      /^docker build gets 11 files \(.*\) of this folder: .*\btrain\.ts, tsconfig\.json$/m,
    );
    expect(stdout).toMatch(/^and not: .*\bcheckpoints\/ \(3\).*$/m);
  });

  const problem = spawnSync('buildah', ['--version']).error && 'apt-get install buildah';
  const isRoot = process.getuid?.() === 0;
  test.skipIf(problem !== undefined || !isRoot)(
    `a builder copies the same files${problem ? `: skipped, ${problem}` : ''}`,
    { timeout: 120_000 },
    () => {
      expect(imageFiles()).toEqual([...needed].sort());
    },
  );

  test('--include adds a data set, but no secrets below it', async () => {
    writeFileSync(join(folder, 'data/upload.token'), '');
    await deploy('--force', '--include', 'data', '--include', 'notes.txt', 'train.ts');
    const added = ['data/annotations.json', 'data/labels.csv', 'data/train-images-idx3-ubyte', 'notes.txt'];
    expect(sent()).toEqual([...needed, ...added].sort());
  });

  test('the next deployment keeps them', async () => {
    const before = readFileSync(join(folder, '.dockerignore'), 'utf8');
    const stdout = await deploy('--force', 'train.ts');
    expect(stdout).not.toContain('.dockerignore\n');
    expect(readFileSync(join(folder, '.dockerignore'), 'utf8')).toBe(before);
  });

  test.each([
    ['nothing-here', /matches none\. Correct it\./],
    ['ringrun.secret', /got ringrun\.secret, which \.dockerignore keeps out as a secret\. Mount it/],
    ['../other', /Expected a file, a folder or a pattern/],
  ])('--include %s is an error', async (pattern, message) => {
    const args = [join(repository, 'launch.js'), 'deploy', '--image', 'a:1', '--force', '--include', pattern];
    const { code, stderr } = await node([...args, 'train.ts'], { cwd: folder }).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test('every ignore file of a builder is amended', async () => {
    const own = ['Dockerfile.dockerignore', '.containerignore'];
    for (const name of own) writeFileSync(join(folder, name), 'notes.txt\n');
    const stdout = await deploy('--force', 'train.ts');
    for (const name of own) {
      expect(stdout).toContain(`added lines to ${name}\n`);
      const isIgnored = ignoredBy(readFileSync(join(folder, name), 'utf8'));
      expect(['ringrun.secret', 'dashboard.token', 'notes.txt'].every(isIgnored)).toBe(true);
    }
  });
});

/** Builds the image with buildah from an empty base image, and lists its files. */
function imageFiles(): string[] {
  const storage = temporaryFolder();
  const place = [
    '--storage-driver',
    'vfs',
    '--root',
    join(storage, 'root'),
    '--runroot',
    join(storage, 'run'),
  ];
  const buildah = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('buildah', [...place, ...args], {
      cwd: folder,
      env: environmentWith({ BUILDAH_ISOLATION: 'chroot' }),
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    return stdout.trim();
  };
  buildah('commit', '--quiet', buildah('from', 'scratch'), baseImage);
  // The stage with npm needs a registry; the files of the folder are those of the last stage.
  const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8');
  const last = dockerfile.slice(dockerfile.indexOf(`FROM ${baseImage}`)).replace(/^COPY --from=.*\n/m, '');
  const file = join(storage, 'Dockerfile');
  writeFileSync(file, last);
  buildah('build', '--pull-never', '--quiet', '--file', file, '--tag', 'digits:1', '.');
  const container = buildah('from', '--pull-never', 'digits:1');
  const root = join(buildah('mount', container), 'workspace');
  expect(existsSync(root)).toBe(true);
  const files = filesIn(root);
  buildah('rm', '--all');
  return files;
}

test('docs/kubernetes.md lists the endings of the code, and names that the code keeps out', () => {
  const page = readFileSync(join(repository, 'docs/kubernetes.md'), 'utf8');
  const [, section] = /^## The files of the image\n(.*?)^## /ms.exec(page)!;
  const documented = [...section.matchAll(/`([^`\s]+)`/g)].map(([, text]) => text);
  const ofSecrets = secrets.flatMap((pattern) => /^\*\*\/\*\.(\w+)$/.exec(pattern)?.[1] ?? []);
  for (const ending of [...codeEndings, ...settingsEndings, ...ofSecrets.filter((one) => one !== 'core')])
    expect(documented).toContain(`.${ending}`);
  const isSecret = ignoredBy(secrets.join('\n'));
  for (const name of [
    'ringrun.secret',
    'dashboard.token',
    'id_ed25519',
    '.npmrc',
    'kubeconfig',
    '.aws',
    'core',
  ])
    expect({ name, documented: documented.includes(name), isSecret: isSecret(name) }).toEqual({
      name,
      documented: true,
      isSecret: true,
    });
  expect(['trace.json', 'node_modules'].every(ignoredBy(results.join('\n')))).toBe(true);
});
