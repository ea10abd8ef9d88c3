import { test } from 'vitest';
import { systemOf } from '../compile/systems.js';
import { compiledFixture } from './support/compiled-fixture.ts';

// MADV_FREE returns pages only when memory is short.
const problem = systemOf() === 'linux' ? '' : ': skipped, pages are returned later outside of Linux';

test.skipIf(problem)(
  `blocks of the memory pool never overlap, merge when freed, and trim returns their pages${problem}`,
  () => {
    const run = compiledFixture('memory-pool', ['onnxruntime/memory_pool.cc', `base/pages_${systemOf()}.cc`]);
    for (const seed of ['1', '2', '3']) run(seed);
  },
);
