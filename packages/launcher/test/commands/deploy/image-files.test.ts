import { expect, test } from 'vitest';
import { ignoredBy } from '../../../src/commands/deploy/dockerignore.ts';
import { dockerignoreOf } from '../../../src/commands/deploy/image-files.ts';
import type { IgnoreOptions } from '../../../src/commands/deploy/image-files.ts';

const ordinary: IgnoreOptions = {
  output: 'k8s',
  manifests: ['k8s/job.yaml'],
  included: [],
  codeFolders: [],
  isOwnDockerfile: false,
};

const code = ['train.ts', 'src/model.js', 'src/secret/keys.ts', 'data/load.ts', 'native/build/x.node'];
const settings = ['package.json', 'package-lock.json', 'tsconfig.json', 'config/run.yaml', 'tokenizer.json'];
const data = [
  'data/train/0001.jpg',
  'data/labels.json',
  'train.csv',
  'model.onnx',
  'train-images-idx3-ubyte',
];
const secretFiles = [
  ...['ringrun.secret', 'conf/job.token', 'tls/server.key', '.env', 'sub/.env.local', 'prod.env', '.npmrc'],
  ...['.aws/credentials', '.ssh/id_rsa', 'deploy/id_ed25519', 'kubeconfig', 'mysecret', 'api-token.json'],
  ...[
    'config/db-password.yaml',
    'gcp/service-account.json',
    'signing_key',
    'core',
    'core.812',
    'passwords.txt',
  ],
];

const kept = (text: string, paths: readonly string[]) => paths.filter((path) => !ignoredBy(text)(path));

test('code and settings go into the image, and nothing else', () => {
  const text = dockerignoreOf(undefined, ordinary);
  expect(kept(text, [...code, ...settings, ...data, ...secretFiles])).toEqual([...code, ...settings]);
  expect(kept(text, ['k8s/job.yaml', 'Dockerfile', 'node_modules/a/index.js', '.git/config'])).toEqual([]);
});

test.each([
  ['.', ['job.yaml']],
  ['../k8s', []],
])('excludes the manifests in %s by name', (output, names) => {
  const text = dockerignoreOf(undefined, { ...ordinary, output, manifests: ['job.yaml'] });
  expect(kept(text, ['k8s/a.json', 'other.yaml', 'job.yaml'])).toEqual(
    ['k8s/a.json', 'other.yaml', 'job.yaml'].filter((path) => !names.includes(path)),
  );
});

test('files that the user names go into the image, secrets among them do not', () => {
  const text = dockerignoreOf(undefined, { ...ordinary, included: ['data', 'vocab.txt', 'conf'] });
  expect(kept(text, [...data.slice(0, 2), 'vocab.txt', 'data/.env', 'conf/job.token'])).toEqual([
    ...data.slice(0, 2),
    'vocab.txt',
  ]);
});

test('a second run changes nothing, and keeps lines of the user at their places', () => {
  const first = dockerignoreOf(undefined, { ...ordinary, included: ['data'] });
  expect(dockerignoreOf(first, ordinary)).toBe(first);
  // The Dockerfile of the first run exists in the second.
  expect(dockerignoreOf(first, { ...ordinary, isOwnDockerfile: true })).toBe(first);
  const edited = `${first.replace('\n!data\n', '\n!data\n!vocab.txt\n')}!ca.pem\n`;
  expect(dockerignoreOf(edited, { ...ordinary, included: ['data'] })).toBe(edited);
  expect(kept(edited, ['vocab.txt', 'ca.pem', 'other.pem'])).toEqual(['vocab.txt', 'ca.pem']);
});

test('an existing .dockerignore keeps its lines, which win over everything but secrets', () => {
  const text = dockerignoreOf('\uFEFFtest\r\n!assets\r\n!conf', ordinary);
  expect(text).toContain('\ntest\n!assets\n!conf\n');
  const paths = ['train.ts', 'test/a.ts', 'assets/logo.png', 'conf/x.txt', 'conf/job.secret', 'a.png'];
  expect(kept(text, paths)).toEqual(['train.ts', 'assets/logo.png', 'conf/x.txt']);
  // An allow-list of the user stays one.
  const strict = dockerignoreOf('*\n!src\n!train.ts\n', ordinary);
  expect(kept(strict, ['train.ts', 'src/a.ts', 'src/b.txt', 'src/a.secret', 'other.ts'])).toEqual([
    'train.ts',
    'src/a.ts',
    'src/b.txt',
  ]);
});

test('with a Dockerfile of the user, only secrets are kept out', () => {
  const text = dockerignoreOf('logs\n', { ...ordinary, isOwnDockerfile: true });
  expect(kept(text, [...data, ...secretFiles, 'logs/a'])).toEqual(data);
  expect(dockerignoreOf(text, { ...ordinary, isOwnDockerfile: true })).toBe(text);
  const fresh = dockerignoreOf(undefined, { ...ordinary, isOwnDockerfile: true });
  expect(kept(fresh, [...data, ...secretFiles, 'node_modules/a.js', 'k8s/job.yaml'])).toEqual(data);
});

test('a block whose end was deleted does not swallow lines of the user', () => {
  const whole = dockerignoreOf('mine\n', ordinary);
  const end = '# <<< ringrun deploy\n';
  for (const broken of [whole.replace(end, ''), whole.replaceAll(end, '')])
    expect(dockerignoreOf(broken, ordinary)).toContain('\nmine\n');
});

test('a folder of code with the name of a secret goes into the image', () => {
  const text = dockerignoreOf(undefined, { ...ordinary, codeFolders: ['core', 'api-token', 'src'] });
  expect(kept(text, ['core/a.ts', 'api-token/index.js', 'mysecret'])).toEqual(
    ['core/a.ts', 'api-token/index.js', 'mysecret'].slice(0, 2),
  );
});

test('the secret of the job stays out under any name, also after a deployment without it', () => {
  const text = dockerignoreOf(undefined, { ...ordinary, secretFile: 'conf/[job].json' });
  expect(kept(text, ['conf/[job].json', 'conf/j.json'])).toEqual(['conf/j.json']);
  expect(dockerignoreOf(text, ordinary)).toBe(text);
  expect(dockerignoreOf(text, { ...ordinary, secretFile: 'conf/[job].json' })).toBe(text);
});
