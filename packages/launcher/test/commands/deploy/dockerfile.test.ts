import { expect, test } from 'vitest';
import { dockerfileOf } from '../../../src/commands/deploy/dockerfile.ts';

const ordinary = { gpus: 0, baseImage: undefined, version: '0.1.0' };
const bare = { dependsOnRingrun: false, hasPackageJson: false, hasPackageLock: false, lacksTsx: false };

/** The instructions without comments and ENV. */
const instructions = (...args: Parameters<typeof dockerfileOf>) =>
  dockerfileOf(...args)
    .split('\n')
    .filter((line) => line !== '' && !/^(#|ENV)/.test(line));

test("a folder without dependencies is copied into ringrun's image", () => {
  const copied = ['WORKDIR /workspace', 'COPY --chown=1000:1000 . .'];
  expect(instructions(bare, ordinary)).toEqual(['FROM ringrun:0.1.0', ...copied]);
  expect(instructions(bare, { ...ordinary, gpus: 2 })).toEqual(['FROM ringrun-gpu:0.1.0', ...copied]);
  expect(instructions(bare, { ...ordinary, gpus: 2, baseImage: 'mine:2' })).toEqual([
    'FROM mine:2',
    ...copied,
  ]);
});

test("a folder that depends on ringrun uses its own dependencies on Node's image", () => {
  expect(
    instructions({ ...bare, dependsOnRingrun: true, hasPackageJson: true, hasPackageLock: true }, ordinary),
  ).toEqual([
    'FROM node:20-bookworm-slim',
    'RUN install -d -o node -g node /workspace /volume',
    'USER 1000:1000',
    'WORKDIR /workspace',
    'COPY --chown=1000:1000 package.json package-lock.json ./',
    'RUN npm ci --omit=dev',
    'COPY --chown=1000:1000 . .',
    'ENTRYPOINT ["ringrun"]',
  ]);
});

test('installs tsx for TypeScript whose dependencies lack it', () => {
  const folder = { ...bare, dependsOnRingrun: true, hasPackageJson: true, lacksTsx: true };
  expect(instructions(folder, ordinary)).toContain('RUN npm install --no-save --omit=dev tsx@4');
  expect(instructions({ ...folder, lacksTsx: false }, ordinary).join()).not.toContain('tsx');
  // ringrun's image includes tsx.
  expect(instructions({ ...bare, lacksTsx: true }, ordinary).join()).not.toContain('tsx');
});

test.each([
  [{ ...bare, hasPackageJson: true }, ordinary],
  [
    { ...bare, dependsOnRingrun: true, hasPackageJson: true },
    { ...ordinary, gpus: 1 },
  ],
])(
  'other dependencies are installed in a stage with npm, because the GPU image has no npm: %j',
  (folder, job) => {
    expect(instructions(folder, job)).toEqual([
      'FROM node:20-bookworm-slim AS dependencies',
      'WORKDIR /workspace',
      'COPY --chown=1000:1000 package.json ./',
      'RUN npm install --omit=dev',
      `FROM ringrun${job.gpus > 0 ? '-gpu' : ''}:0.1.0`,
      'WORKDIR /workspace',
      'COPY --from=dependencies --chown=1000:1000 /workspace ./',
      'COPY --chown=1000:1000 . .',
    ]);
  },
);
