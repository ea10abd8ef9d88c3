import { expect, test } from 'vitest';
import { stackThreadDelay } from '../../src/job/stack-thread-delay.ts';

test.each([
  { processesPerNode: 1, usableCpus: 1, delay: 0 },
  { processesPerNode: 8, usableCpus: 2, delay: 0 },
  { processesPerNode: 9, usableCpus: 2, delay: 2250 },
  { processesPerNode: 64, usableCpus: 2, delay: 16_000 },
  { processesPerNode: 64, usableCpus: 64, delay: 0 },
])(
  '$processesPerNode workers on $usableCpus CPUs start their helper thread after $delay ms',
  ({ delay, ...node }) => {
    expect(stackThreadDelay(node)).toBe(delay);
  },
);
