import { expect, test } from 'vitest';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios('test/fixtures/tfjs.js', temporaryFolder());

/** tf's own line of every process, and ours of rank 0. */
const tfBanner = /\n=+\nHi, looks like you are running TensorFlow\.js in Node\.js\. [^\n]*\n=+\n/g;
const costLine =
  /^ringrun: TensorFlow\.js computes in plain JavaScript \(backend 'cpu'\), [^\n]*\(said once\)\n/gm;

/** What ranks say besides that. */
function stderrOf(rest: string | RegExp, lines = 1): unknown {
  return expect.toSatisfy((text: string) => {
    expect(text.match(costLine) ?? []).toHaveLength(lines);
    const own = text.replaceAll(tfBanner, '').replaceAll(costLine, '').trim();
    if (typeof rest === 'string') expect(own).toBe(rest);
    else expect(own).toMatch(rest);
    return true;
  });
}

function ranks<Result>(size: number, scenario: string, stderr = stderrOf('')): Promise<Result[]> {
  return scenarios.run(size, scenario, { stderr });
}

function furthest(a: readonly number[][], b: readonly number[][]): number {
  const [first, second] = [a.flat(), b.flat()];
  expect(first).toHaveLength(second.length);
  return Math.max(...first.map((value, i) => Math.abs(value - second[i])));
}

type ByOptimizer = Record<'sgd' | 'momentum' | 'adam', number[][]>;

test('20 steps of model.fit, two ranks × batch 8, end where one process × batch 16 ends, by SGD, momentum and Adam', async () => {
  const found = await ranks<ByOptimizer>(2, 'sameAsOne');
  const [alone] = await ranks<ByOptimizer>(1, 'tfAlone', stderrOf('', 0));
  const [inGroupOfOne] = await ranks<ByOptimizer>(1, 'sameAsOne');
  expect(found[1]).toEqual(found[0]);
  expect(inGroupOfOne).toEqual(alone);
  for (const name of ['sgd', 'momentum', 'adam'] as const) {
    expect(furthest(found[0][name], alone[name]), name).toBeLessThan(1e-5);
  }
  // They went somewhere, each its own way.
  expect(furthest(alone.sgd, alone.adam)).toBeGreaterThan(0.01);
}, 60_000);
