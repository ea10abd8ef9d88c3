import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { reaches } from './test/support/imports.ts';
import { SlowFirst } from './test/support/slow-first.ts';

/** Tests of functions, which leave nothing behind in the modules that they share. */
const units = [
  'packages/{core,nn,tfjs,examples-*}/test/**/*.test.ts',
  'packages/rendezvous/test/{recovery,rounds,secret}/**/*.test.ts',
  'packages/launcher/test/{commands,dashboard/page}/**/*.test.ts',
  'packages/runtime/test/{checkpoint,data,ddp,profiler,report,tensorboard}/**/*.test.ts',
];

/** Tests that start processes, and have no state of a group or a store in their own process. */
const starters = ['test/{,deploy/}*.test.ts', 'packages/collectives/test/con*/**/*.test.ts'];

/**
 * With RINGRUN_TESTS=unit, the tests that are left out: those at the top level, and those that import, in helpers or in the
 * code under test, what starts processes or threads.
 */
const leftOut = process.env['RINGRUN_TESTS'] === 'unit' ? ['test/**', ...startersOfProcesses()] : [];

function startersOfProcesses(): string[] {
  const known = new Map<string, boolean>();
  return ['native', ...readdirSync('packages').map((name) => `packages/${name}`)]
    .flatMap((folder) => testsIn(join(folder, 'test')))
    .filter((file) => reaches(file, ['node:child_process', 'node:worker_threads'], known));
}

function testsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join(folder, name));
}

// Unit tests import the packages' sources (the `source` condition of their package.json); tests that start
// processes run what is built, as a user would.
export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'default'] } },
  test: {
    pool: 'forks',
    // Two more than the processors of the smallest machine that is supported: a test waits for processes, sockets and
    // limits of time for a third of its time or more.
    maxWorkers: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    coverage: {
      provider: 'v8',
      include: ['native/lib/**', 'packages/*/src/**'],
      reporter: ['text-summary', 'html', 'lcov'],
    },
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['{native,packages/*}/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...units, ...starters, ...leftOut],
        },
      },
      // A process of its own for every file would spend more time on loading what the one before had loaded than on testing.
      { extends: true, test: { name: 'units', include: units, exclude: leftOut, isolate: false } },
      { extends: true, test: { name: 'starters', include: starters, exclude: leftOut, isolate: false } },
    ],
  },
});
