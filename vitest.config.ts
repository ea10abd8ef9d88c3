import { defineConfig } from 'vitest/config';

// Unit tests import the packages' sources (the `source` condition of their package.json); tests that start
// processes run what is built, as a user would.
export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'default'] } },
  test: {
    include: ['{native,packages/*}/test/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // One more than the processors of the smallest machine that is supported: a test waits for processes, sockets and limits of time, too.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
