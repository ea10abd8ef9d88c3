import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { isFull, ways } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

// Models of 4 MiB, one after the other in one group: buckets, shared parameters, optimizer states and programs of those that
// the program has dropped are freed.

const scenarios = new Scenarios(builtScript('dropped-models.script'), temporaryFolder());

const rounds = isFull ? 240 : 60;
const limitMs = 300_000;

test.each(
  ways(
    [
      { kind: 'wrapped', transport: 'shm' },
      { kind: 'sharedTrained', transport: 'shm' },
    ],
    [
      { kind: 'trained', transport: 'shm' },
      { kind: 'sharedWrapped', transport: 'shm' },
      { kind: 'manyBuckets', transport: 'shm' },
      { kind: 'wrapped', transport: 'tcp' },
      { kind: 'trained', transport: 'tcp' },
    ],
  ),
)(
  `the memory of ${rounds} models in one process stays flat: $kind, $transport`,
  async ({ kind, transport }) => {
    const options = { transport, env: { ROUNDS: rounds }, limitMs };
    for (const grown of await scenarios.run<number>(2, kind, options)) {
      // If kept, the gradients of the second half alone would need twice as much.
      expect(grown, 'MiB').toBeLessThan((rounds / 2) * 2);
    }
  },
  limitMs,
);
