import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endJob, modes } from './support/ended-job.ts';
import type { Mode } from './support/ended-job.ts';
import { expectedEnds } from './support/ends.ts';
import type { ExpectedEnd } from './support/ends.ts';
import { inParallel } from './support/in-parallel.ts';

/** `npm run test:faults`; RINGRUN_ENDS selects ways by a regular expression. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const selected = new RegExp(process.env['RINGRUN_ENDS'] ?? '');
const place = temporaryFolder();

/** The ends of all launchers, by way. */
type Table = Record<string, unknown[]>;

test.each(modes)(
  'the last lines of a job that is launched %s name the root cause',
  { timeout: isFull ? 1_200_000 : 180_000 },
  async (mode) => {
    const rows = expectedEnds.filter(
      ({ way, quick = [], not = [] }) =>
        selected.test(way) && !not.includes(mode) && (isFull || quick.includes(mode)),
    );
    const [found, expected]: [Table, Table] = [{}, {}];
    await inParallel(rows, 3, async (row) => {
      const ends = await endJob({ way: row.way, mode, place, script: row.script });
      found[row.way] = ends;
      expected[row.way] = ends.map(() => expectedEnd(row, mode));
    });
    expect(found).toEqual(expected);
  },
);

function expectedEnd(row: ExpectedEnd, mode: Mode): unknown {
  const other = mode === 'shrink' ? row.shrink : mode === 'elastic' ? row.elastic : undefined;
  const { code, last, frame } = other ?? row;
  return { code, last: expectedLast(last), ...(frame === undefined ? {} : { frame }) };
}

function expectedLast(last: string | RegExp): unknown {
  if (last instanceof RegExp) return expect.stringMatching(last);
  const isWhole = /^(rank \d: |ringrun: )/.test(last);
  return isWhole ? last : expect.stringMatching(new RegExp(`^rank \\d: ${escaped(last)}$`));
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
