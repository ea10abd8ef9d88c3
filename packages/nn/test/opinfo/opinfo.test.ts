import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import '../support/one-thread.ts';
import { names } from './names.ts';
import { outcomeOf } from './outcome.ts';
import { Samples, samplesProblem } from './samples.ts';
import { coveragePage, type Row } from './table.ts';

// torch's own samples of its operations, modules and optimizers: values, gradients and errors equal torch's, or ringrun rejects
// them or computes a different number for a documented reason. A new operation needs an entry in a table of opinfo/.

/** All samples (`npm run test:opinfo`), or a few of each kind. */
const isFull = process.env['RINGRUN_OPINFO'] === 'full';
const page = new URL('../../../../docs/torch-coverage.md', import.meta.url);

describe.skipIf(samplesProblem() !== undefined)("torch's samples", () => {
  let samples: Samples;
  const rows: Row[] = [];

  beforeAll(() => {
    samples = new Samples(names, isFull ? undefined : 2);
  }, 600_000);

  afterAll(() => {
    samples.remove();
  });

  test.each(names)(
    '%s: values, gradients and errors equal those of torch',
    async (name) => {
      const row: Row = {
        name,
        samples: 0,
        equal: 0,
        refused: 0,
        excused: 0,
        different: 0,
        reasons: new Map(),
      };
      const differences: string[] = [];
      for await (const sample of samples.of(name)) {
        const outcome = await outcomeOf(sample);
        row.samples += 1;
        row[outcome.kind] += 1;
        if (outcome.kind === 'refused' || outcome.kind === 'excused') {
          const { kind, reason } = outcome;
          row.reasons.set(reason, { kind, count: (row.reasons.get(reason)?.count ?? 0) + 1 });
        } else if (outcome.kind === 'different') {
          const { variant, dtype, values } = sample;
          differences.push(`${[dtype, variant, values].filter(Boolean).join(', ')}: ${outcome.how}`);
        }
      }
      rows.push(row);
      expect(row.samples).toBeGreaterThan(0);
      expect(differences).toEqual([]);
    },
    600_000,
  );

  test.runIf(isFull)('docs/torch-coverage.md has the counts', () => {
    const written = coveragePage(rows, samples.torch);
    const before = readFileSync(page, { encoding: 'utf8', flag: 'a+' });
    writeFileSync(page, written);
    expect(written, 'docs/torch-coverage.md was written anew. Commit it.').toBe(before);
  });
});
