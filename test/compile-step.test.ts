import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import type { ReportedError } from './fixtures/error-of.ts';
import { computesOnGpu } from './support/environment.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('compile-step.script'), temporaryFolder());

interface Trained {
  compiled: { digest: string; losses: number[]; programs: number };
  separate: { digest: string; losses: number[] };
  inStep?: { digest: string; losses: number[] };
}

test('a compiled step is bit-identical to backward + step on every rank, in each DDP variant', async () => {
  interface Result {
    variants: Record<string, Trained>;
    shrinking: string;
  }
  const ranks = await scenarios.run<Result>(2, 'variants');
  const [first, second] = ranks.map(({ variants }) => variants);
  for (const [variant, { compiled, separate, inStep = separate }] of Object.entries(first)) {
    expect(compiled.digest, variant).toBe(separate.digest);
    expect(inStep.digest, variant).toBe(separate.digest);
    expect(second[variant].compiled.digest, variant).toBe(separate.digest);
    expect(second[variant].separate.digest, variant).toBe(separate.digest);
    for (const of of [first, second]) {
      expect(of[variant].compiled.losses, variant).toEqual(of[variant].separate.losses);
    }
  }
  const digests = ['plain', 'oneBucketPerGradient', 'overlapped'].map(
    (variant) => first[variant].separate.digest,
  );
  expect(new Set(digests).size).toBe(1);
  const unclipped = first.plain.separate.digest;
  expect(first.clipped.separate.digest).not.toBe(unclipped);
  expect(first.clamped.separate.digest).not.toBe(unclipped);
  const shared = computesOnGpu ? {} : { clippedAndShared: 3 };
  for (const name of Object.keys(shared)) {
    expect(first[name].separate.digest).toBe(first.clipped.separate.digest);
  }
  for (const { shrinking } of ranks) expect(shrinking).toBe(first.clipped.separate.digest);
  // A program of a GPU ends before each collective of gloo.
  if (computesOnGpu) return;
  // With a hook, or a layer that this rank does not use, the step is a backward pass and an update.
  const programs = Object.entries(second).map(([variant, { compiled }]) => [variant, compiled.programs]);
  expect(Object.fromEntries(programs)).toEqual({
    plain: 1,
    oneBucketPerGradient: 1,
    overlapped: 1,
    synchronized: 1,
    verified: 3,
    hook: 2,
    unused: 2,
    clipped: 1,
    clamped: 1,
    ...shared,
  });
});

test('traceOnce is bit-identical to tracing every step on every rank, even several in a call', async () => {
  type Counted = Trained['separate'] & { calls: number };
  const ranks = await scenarios.run<Record<string, Record<'once' | 'together' | 'always', Counted>>>(
    2,
    'tracedOnce',
  );
  for (const results of ranks) {
    for (const [name, { once, together, always }] of Object.entries(results)) {
      expect({ ...once, calls: always.calls }, name).toEqual(always);
      expect({ ...together, calls: always.calls }, name).toEqual(always);
      expect(together.calls, name).toBe(once.calls);
      expect(once.digest, name).toBe(ranks[0][name].always.digest);
      // Running statistics are assigned by each call's graph.
      expect([name, once.calls]).toEqual([name, name.startsWith('none') ? 1 : always.calls]);
    }
  }
});

test('several steps in one call reject with the dead rank and the steps', async () => {
  const error = await scenarios.runFirst<ReportedError>(2, 'deathInOneOfSeveral');
  expect(error).toMatchObject({ name: 'PeerDiedError', code: 'ERR_PEER_DIED' });
  expect(error.message).toContain('rank 1');
  expect(error.message).toContain('in one of the steps 2 to 4 of DistributedDataParallel');
});

test('a compiled step rejects with the dead rank and the step, and the process continues', async () => {
  const error = await scenarios.runFirst<ReportedError>(2, 'death');
  expect(error).toMatchObject({ name: 'PeerDiedError', code: 'ERR_PEER_DIED' });
  expect(error.message).toContain('rank 1');
  expect(error.message).toContain('step 2 of DistributedDataParallel');
});
