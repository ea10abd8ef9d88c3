import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { circlesOf } from './house/circles.ts';
import type { WorkspacePackage } from './house/packages.ts';
import { readPackage } from './house/read-packages.ts';
import { tooLong } from './house/rooms.ts';
import { brokenWalls, type Arrows } from './house/walls.ts';
import { repository } from './support/environment.ts';

const core = '@ringrun/core';
const native = '@ringrun/native';
const collectives = '@ringrun/collectives';
const rendezvous = '@ringrun/rendezvous';
const launcher = '@ringrun/launcher';
const nn = '@ringrun/nn';
const tfjs = '@ringrun/tfjs';
const train = '@ringrun/train';
const pretrained = '@ringrun/pretrained';
const common = '@ringrun/examples-common';
const example = [nn, 'ringrun', common];

/** Which packages each package may import. An arrow upwards is one that is missing here. */
const arrows: Arrows = {
  [core]: [],
  [native]: [],
  [collectives]: [core, native],
  [rendezvous]: [core, native, collectives],
  [launcher]: [core, native, collectives, rendezvous],
  ringrun: [core, native, collectives, rendezvous, launcher],
  [nn]: [core, native],
  [tfjs]: [core],
  [train]: [core, nn, 'ringrun'],
  [pretrained]: [core, nn, 'ringrun'],
  [common]: [nn, 'ringrun', train],
  '@ringrun/examples-mnist': example,
  '@ringrun/examples-cifar': example,
  '@ringrun/examples-finetune': [...example, '@ringrun/examples-cifar'],
  '@ringrun/examples-finetune-text': [...example, pretrained, train],
  '@ringrun/examples-gpt': example,
  '@ringrun/examples-segmentation': [...example, train, '@ringrun/examples-cifar'],
  '@ringrun/examples-text': example,
  '@ringrun/examples-mnist-tfjs': [tfjs, 'ringrun', common],
};

/** Files that import each other, each group with its reason. */
const allowedCircles: { reason: string; files: string[] }[] = [
  {
    reason: 'The gradient of broadcasting is a sum, whose gradient is broadcasting.',
    files: ['broadcast', 'elementwise', 'reduction', 'shape'].map((name) => `packages/nn/src/ops/${name}.ts`),
  },
  {
    reason: "A convolution and the gradient of its weight are each other's gradient.",
    files: ['convolution-weight-gradient', 'convolution'].map((name) => `packages/nn/src/ops/${name}.ts`),
  },
];

const folders = [
  'native',
  ...readdirSync(join(repository, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => existsSync(join(repository, folder, 'package.json'))),
];
const packages = folders.map((folder) => readPackage(repository, folder));

describe('the packages of this repository', () => {
  test('import only along the arrows, and only through entry points', () => {
    expect(packages.flatMap(({ files }) => files).length).toBeGreaterThan(800);
    expect(brokenWalls(packages, arrows)).toEqual([]);
  });

  test('have no import cycles except the listed ones', () => {
    expect(circlesOf(packages)).toEqual(allowedCircles.map(({ files }) => files));
  });

  test('have no file above the line limit', () => {
    const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
      cwd: repository,
      encoding: 'utf8',
    });
    const files = listed
      .split('\n')
      .filter((path) => path !== '' && existsSync(join(repository, path)))
      .map((path) => ({ path, lines: linesOf(path) }));
    expect(tooLong(files)).toEqual([]);
  });
});

function linesOf(path: string): number {
  return readFileSync(join(repository, path), 'utf8').split('\n').length - 1;
}

describe('a planted fault is found', () => {
  const lower: WorkspacePackage = {
    name: 'lower',
    folder: 'packages/lower',
    faces: new Map([['lower', 'packages/lower/src/index.ts']]),
    declared: [],
    files: [
      { path: 'packages/lower/src/index.ts', imports: ['./a.ts'] },
      { path: 'packages/lower/src/a.ts', imports: ['node:fs', './b.ts'] },
      { path: 'packages/lower/src/b.ts', imports: [] },
    ],
  };
  const upper: WorkspacePackage = {
    name: 'upper',
    folder: 'packages/upper',
    faces: new Map([['upper', 'packages/upper/src/index.ts']]),
    declared: ['lower'],
    files: [{ path: 'packages/upper/src/index.ts', imports: ['lower', 'lower-than-all'] }],
  };
  const allowed: Arrows = { lower: [], upper: ['lower'] };
  const withImport = (one: WorkspacePackage, file: string, specifier: string): WorkspacePackage => ({
    ...one,
    files: one.files.map(({ path, imports }) => ({
      path,
      imports: path.endsWith(`/${file}`) ? [...imports, specifier] : imports,
    })),
  });
  const faultsOf = (...given: WorkspacePackage[]) => brokenWalls(given, allowed);

  test('no fault exists before', () => {
    expect(faultsOf(lower, upper)).toEqual([]);
    expect(circlesOf([lower, upper])).toEqual([]);
  });

  test('an arrow upwards', () => {
    expect(faultsOf({ ...withImport(lower, 'b.ts', 'upper'), declared: ['upper'] }, upper)).toEqual([
      'packages/lower/src/b.ts imports upwards: upper',
    ]);
  });

  test('an import that passes an entry point', () => {
    expect(faultsOf(lower, withImport(upper, 'index.ts', 'lower/dist/a.js'))).toEqual([
      'packages/upper/src/index.ts passes an entry point: lower/dist/a.js',
    ]);
    expect(faultsOf(lower, withImport(upper, 'index.ts', '../../lower/src/a.ts'))).toEqual([
      'packages/upper/src/index.ts leaves its package: ../../lower/src/a.ts',
    ]);
  });

  test('a dependency that is not declared, and one that is not imported', () => {
    expect(faultsOf(lower, { ...upper, declared: [] })).toEqual([
      'packages/upper/src/index.ts imports lower, which package.json does not declare',
    ]);
    expect(faultsOf({ ...lower, declared: ['upper'] }, upper)).toEqual([
      'lower declares upper and does not import it',
    ]);
  });

  test('a circle within a package, and one through two packages', () => {
    expect(circlesOf([withImport(lower, 'b.ts', './a.ts'), upper])).toEqual([
      ['packages/lower/src/a.ts', 'packages/lower/src/b.ts'],
    ]);
    expect(circlesOf([withImport(lower, 'b.ts', 'upper'), upper])).toEqual([
      [
        'packages/lower/src/a.ts',
        'packages/lower/src/b.ts',
        'packages/lower/src/index.ts',
        'packages/upper/src/index.ts',
      ],
    ]);
  });

  test('a file that is too long', () => {
    expect(
      tooLong([
        { path: 'a.ts', lines: 401 },
        { path: 'b.cc', lines: 500 },
      ]),
    ).toEqual(['a.ts: 401 lines, expected at most 400']);
  });
});
