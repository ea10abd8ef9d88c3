import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { dockerfileOf } from '../../../src/commands/deploy/dockerfile.ts';

const ordinary = { gpus: 0, baseImage: undefined, version: '0.1.0' };
const bare = { dependsOnRingrun: false, hasPackageJson: false, hasPackageLock: false, lacksTsx: false };

/** The instructions without comments and ENV. */
const instructions = (...args: Parameters<typeof dockerfileOf>) =>
  dockerfileOf(...args)
    .split('\n')
    .filter((line) => line !== '' && !/^(#|ENV)/.test(line));

const copied = ['WORKDIR /workspace', 'COPY --chown=1000:1000 . .'];
const tools = ['FROM busybox:1.37-musl AS tools'];
const onNode = [
  'FROM node:24-bookworm-slim',
  'COPY --from=tools /bin/busybox /usr/local/bin/busybox',
  'RUN for tool in nslookup ping nc wget; do ln -s busybox /usr/local/bin/$tool; done \\',
  '  && install -d -o node -g node /workspace /volume /opt/ringrun',
];
const ringrun = 'RUN npm install --prefix /opt/ringrun ringrun@0.1.0 @ringrun/nn@0.1.0 tsx@4';

test('a folder without package.json gets ringrun from npm', () => {
  expect(instructions(bare, ordinary)).toEqual([
    ...tools,
    ...onNode,
    'USER 1000:1000',
    ringrun,
    ...copied,
    'ENTRYPOINT ["ringrun"]',
  ]);
});

test('a base image with ringrun is used unchanged, but for the files', () => {
  expect(instructions(bare, { ...ordinary, gpus: 2, baseImage: 'mine:2' })).toEqual([
    'FROM mine:2',
    ...copied,
  ]);
});

test("a folder that depends on ringrun uses its own dependencies on Node's image", () => {
  expect(
    instructions({ ...bare, dependsOnRingrun: true, hasPackageJson: true, hasPackageLock: true }, ordinary),
  ).toEqual([
    ...tools,
    ...onNode,
    'USER 1000:1000',
    'WORKDIR /workspace',
    'COPY --chown=1000:1000 package.json package-lock.json ./',
    'RUN npm ci --omit=dev',
    'COPY --chown=1000:1000 . .',
    'ENTRYPOINT ["ringrun"]',
  ]);
});

test('a folder with other dependencies gets both', () => {
  const lines = instructions({ ...bare, hasPackageJson: true }, ordinary);
  expect(lines).toEqual(
    expect.arrayContaining([ringrun, 'COPY --chown=1000:1000 package.json ./', 'RUN npm install --omit=dev']),
  );
});

test("GPUs add the libraries of deploy/Dockerfile.gpu, with its installation of NVIDIA's wheels", () => {
  const path = fileURLToPath(new URL('../../../../../deploy/Dockerfile.gpu', import.meta.url));
  const own = readFileSync(path, 'utf8');
  const wheels = /^ARG WHEELS="(.*)"$/m.exec(own)![1];
  const install = /^RUN pip .*?[^\\]$/ms.exec(own)![0].replace('${WHEELS}', wheels);
  for (const contents of [bare, { ...bare, dependsOnRingrun: true, hasPackageJson: true }]) {
    const text = dockerfileOf(contents, { ...ordinary, gpus: 1 });
    expect(text).toContain(`FROM python:3.12-slim-bookworm AS nvidia\n${install}\n`);
    for (const line of own.matchAll(/^COPY --from=nvidia.*$|^RUN echo \/usr.*$|^ENV NVIDIA.*$/gm))
      expect(text).toContain(`\n${line[0]}\n`);
  }
  expect(dockerfileOf(bare, ordinary)).not.toContain('nvidia');
});

test('installs tsx for TypeScript whose dependencies lack it', () => {
  const folder = { ...bare, dependsOnRingrun: true, hasPackageJson: true, lacksTsx: true };
  expect(instructions(folder, ordinary)).toContain('RUN npm install --no-save --omit=dev tsx@4');
  expect(instructions({ ...folder, lacksTsx: false }, ordinary).join()).not.toContain('tsx');
  // It comes with ringrun.
  expect(instructions({ ...bare, lacksTsx: true }, ordinary).filter((line) => line.includes('tsx'))).toEqual([
    ringrun,
  ]);
});

test('dependencies of a folder on a base image are installed in a stage with npm', () => {
  const base = { ...ordinary, gpus: 1, baseImage: 'ringrun-gpu:0.1.0' };
  expect(instructions({ ...bare, dependsOnRingrun: true, hasPackageJson: true }, base)).toEqual([
    'FROM node:24-bookworm-slim AS dependencies',
    'WORKDIR /workspace',
    'COPY --chown=1000:1000 package.json ./',
    'RUN npm install --omit=dev',
    'FROM ringrun-gpu:0.1.0',
    'WORKDIR /workspace',
    'COPY --from=dependencies --chown=1000:1000 /workspace ./',
    'COPY --chown=1000:1000 . .',
  ]);
});
