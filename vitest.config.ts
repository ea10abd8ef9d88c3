import { defineConfig } from 'vitest/config';

// Unit tests import the packages' sources (the `source` condition of their package.json); tests that start
// processes run what is built, as a user would.
export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'default'] } },
  test: {
    include: ['{native,packages/*}/test/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
