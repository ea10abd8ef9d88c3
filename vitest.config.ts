import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { reaches } from './test/support/imports.ts';
import { SlowFirst } from './test/support/slow-first.ts';

const isOnlyGpu = process.env['RINGRUN_TESTS'] === 'gpu';

const all = ['{native,packages/*}/test/**/*.test.ts', 'test/**/*.test.ts'];

/** Sweeps over many cases, of seconds each: `npm test` runs them, `npm run test:unit` does not. */
const sweeps = [
  'native/test/kernels.test.ts',
  'packages/nn/test/{opinfo,random-networks,surface}/**',
  'packages/nn/test/compiler/clip-norm.test.ts',
  'packages/nn/test/executor/cpu/batch-innermost.test.ts',
  'packages/nn/test/functional/text-lengths.test.ts',
  'packages/nn/test/onnx/export/export-sizes.test.ts',
  'packages/nn/test/ops/gradients.test.ts',
  'packages/nn/test/ops/own/toom-cook-convolve.test.ts',
  'packages/rendezvous/test/store/curve.test.ts',
];

const testFiles = ['native', ...readdirSync('packages').map((name) => `packages/${name}`)].flatMap((folder) =>
  testsIn(join(folder, 'test')),
);

/**
 * With RINGRUN_TESTS=unit, the tests that are left out: those at the top level, sweeps, and those that import, in helpers or
 * in the code under test, what starts processes.
 */
const leftOut =
  process.env['RINGRUN_TESTS'] === 'unit' ? ['test/**', ...sweeps, ...startersOfProcesses()] : [];

function startersOfProcesses(): string[] {
  const known = new Map<string, boolean>();
  return testFiles.filter((file) => reaches(file, ['node:child_process'], known));
}

/**
 * Tests that need a process of their own: those that replace a module, which no other test may have loaded, and a few that
 * change their process. All others share processes, because a process for every file spends more time on loading what the
 * one before had loaded than on testing. They leave nothing behind in the modules that they share.
 */
const alone = [
  // The entry point of @ringrun/nn changes the methods of classes: their errors name other functions than those of the sources.
  ...testFiles.filter((file) => /vi\.mock\(|torch-names\/entry/.test(readFileSync(file, 'utf8'))),
  'test/{kubernetes,viewers}/**/*.test.ts',
  // A process opens one CUDA driver, and cannot use it after the first kernel that fails.
  '{native/test/gpu,packages/nn/test/executor/cuda}/**/*.test.ts',
];

function testsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join(folder, name));
}

const nnTests = (names: string) => `packages/nn/test/${names}.test.ts`;

/**
 * Tests that also run on the fake GPU (native/test/fake-gpu): a few, beside those of executor/cuda; with RINGRUN_TESTS=gpu, all of
 * @ringrun/nn except those that select their device, or that compute nothing, and trainings of several ranks and their faults.
 */
const onGpu = isOnlyGpu
  ? [
      nnTests('!(executor|errors|graph|onnx|opinfo|random|random-networks|torch-names|surface)/**/*'),
      ...[
        'compile-step',
        'ddp',
        'ddp-hooks',
        'ddp-join',
        'checkpoints',
        'faults/{ends,endurance,kills,partition,recovery,recovery-hooks,replay,shrink,shrink-hosts,soak,stuck}',
        'finetune',
        'gpt',
        'groups',
        'kill',
        'not-awaited',
        'parity',
        'resume',
        'sync-batch-norm',
        'text',
        'train',
      ].map((name) => `test/${name}.test.ts`),
    ]
  : ['engine/empty-batch', 'functional/embedding-bag-golden', 'ops/indices'].map(nnTests);

// Unit tests import the packages' sources (the `source` condition of their package.json); tests that start
// processes run what is built, as a user would.
export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'default'] } },
  test: {
    pool: 'forks',
    // Two more than the processors of the smallest machine that is supported: a test waits for processes, sockets and
    // limits of time for a third of its time or more.
    maxWorkers: 4,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: ['native/lib/**', 'packages/*/src/**'],
      reporter: ['text-summary', 'html', 'lcov'],
    },
    setupFiles: ['test/support/restore-environment.ts'],
    sequence: { sequencer: SlowFirst },
    projects: [
      { extends: true, test: { name: 'alone', include: alone, exclude: leftOut } },
      {
        extends: true,
        test: { name: 'shared', include: all, exclude: [...alone, ...leftOut], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'gpu',
          include: process.env['RINGRUN_TESTS'] === 'unit' ? [] : onGpu,
          setupFiles: ['test/support/on-fake-gpu.ts'],
          isolate: false,
          // The first run compiles each kernel with g++.
          testTimeout: 400_000,
          hookTimeout: 400_000,
        },
      },
    ],
  },
});
