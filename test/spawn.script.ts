// Calls `spawn` as a program does, and writes what it returns or throws as JSON: see spawn.test.ts.
import { spawn } from 'ringrun';

const here = new URL('./fixtures/spawned-training.js', import.meta.url);
const outside = 3;
const ending = new AbortController();

const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  module: () => spawn({ module: here, function: 'sumOfRanks' }, { nproc: 3, args: [2] }),
  typescript: () =>
    spawn(
      { module: new URL('../fixtures/spawned-training.ts', import.meta.url), function: 'sumOfRanks' },
      { nproc: 2, args: [1] },
    ),
  values: () =>
    spawn<[unknown], unknown>(
      { module: here },
      { nproc: 2, args: [{ big: 2n ** 60n, list: Float32Array.of(1, 2) }], env: { OF_CALLER: 'yes' } },
    ).then((results) => results.map((result) => JSON.stringify(result, replacer))),
  source: () =>
    spawn(
      async (factor: number) => {
        const { allGatherObject, destroyProcessGroup, getRank, initProcessGroup } = await import('ringrun');
        await initProcessGroup();
        const all = await allGatherObject(factor * (getRank() + 1));
        await destroyProcessGroup();
        return all;
      },
      { nproc: 2, args: [10] },
    ),
  variable: () => spawn(() => outside, { nproc: 1 }),
  failing: () => spawn({ module: here, function: 'failing' }, { nproc: 2, args: ['not today'] }),
  unsendable: () => spawn({ module: here, function: 'returnsFunction' }),
  exits: () => spawn({ module: here, function: 'exits' }),
  missing: () => spawn({ module: here, function: 'absent' }),
  refused: () =>
    Promise.all(
      [
        spawn(Math.max),
        spawn({ module: here }, { args: [() => 1] }),
        spawn({ module: here }, { nproc: 0 }),
      ].map((refused) => refused.catch(String)),
    ),
  aborted: () => {
    process.stdout.write = () => {
      ending.abort(new Error('enough'));
      return true;
    };
    return spawn({ module: here, function: 'waits' }, { nproc: 2, signal: ending.signal });
  },
};

function replacer(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof Float32Array ? Array.from(value) : value;
}

const found = await calls[process.argv[2]]().then(
  (results) => ({ results }),
  (thrown: unknown) => {
    const error = thrown as Error & { code?: string };
    return {
      error: {
        name: error.name,
        code: error.code,
        message: error.message,
        cause: error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : undefined,
      },
    };
  },
);
process.stderr.write(`found ${JSON.stringify(found)}\n`);
