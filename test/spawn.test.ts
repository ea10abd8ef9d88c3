import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { node } from './support/command.ts';
import { ways } from './support/extent.ts';

interface Found {
  results?: unknown;
  error?: { name: string; code?: string; message: string; cause?: string };
}

async function call(name: string): Promise<Found> {
  const command = node([builtScript('spawn.script'), name]);
  const { code, timedOut, left, stderr } = await command.ended;
  expect({ code, timedOut, left }, stderr).toEqual({ code: 0, timedOut: false, left: [] });
  return JSON.parse(/^found (.*)$/m.exec(stderr)![1]) as Found;
}

async function errorOf(name: string): Promise<NonNullable<Found['error']>> {
  const { error } = await call(name);
  if (error === undefined) throw new Error(`${name} has no error`);
  return error;
}

describe('spawn', () => {
  test('calls a function of a module on every rank and returns what each returned', async () => {
    expect(await call('module')).toEqual({
      results: [0, 1, 2].map((rank) => ({ sum: 6, rank, size: 3 })),
    });
  });

  test('imports a module in TypeScript', async () => {
    expect(await call('typescript')).toEqual({ results: [0, 1].map((rank) => ({ sum: 1, rank, size: 2 })) });
  });

  test('clones arguments and results, and adds variables', async () => {
    const given = { big: '1152921504606846976n', list: [1, 2] };
    expect(await call('values')).toEqual({
      results: [0, 1].map((rank) => JSON.stringify({ given, rank, named: 'yes' })),
    });
  });

  test('sends the source of a function, which imports from the folder of the script', async () => {
    expect(await call('source')).toEqual({
      results: [
        [10, 20],
        [10, 20],
      ],
    });
  });

  test('a function that reads a variable around it is told what to do', async () => {
    const { code, message, cause } = await errorOf('variable');
    expect(code).toBe('ERR_SPAWN_FAILED');
    expect(message).toMatch(/outside is not defined in the function\..*pass them in args/);
    expect(cause).toMatch(/^InvalidArgumentError|^Error: spawn: outside/);
  });

  test('a rank that throws is named, and its error is the cause', async () => {
    const { code, message, cause } = await errorOf('failing');
    expect(code).toBe('ERR_SPAWN_FAILED');
    expect(message).toMatch(/^spawn: the ranks failed \(exit code 1\): [^]*rank 1[^]*TypeError: not today/);
    expect(cause).toBe('TypeError: not today');
  });

  test.each(
    ways(
      [['unsendable', /the result of rank 0 cannot be sent to the caller: .* Return plain data/]],
      [
        [
          'exits',
          /^spawn: the ranks failed: rank 0 ended before the function returned, as with process\.exit/,
        ],
        ['missing', /has no export absent that is a function\. Add `export async function absent\(…\)`/],
      ],
    ),
  )('a function that %s fails with the reason', async (name, message) => {
    const error = await errorOf(name);
    expect(error.code).toBe('ERR_SPAWN_FAILED');
    expect(error.message).toMatch(message);
  });

  test('what cannot be sent is refused before anything is started', async () => {
    expect(await call('refused')).toEqual({
      results: [
        /the source of the function max cannot be sent: it is native, bound or a method/,
        /args cannot be sent to the ranks: .* Pass plain data/,
        /nproc is 0, expected a number of ranks from 1 on/,
      ].map((message) => expect.stringMatching(message) as string),
    });
  });

  test('an aborted signal ends the ranks', async () => {
    expect(await errorOf('aborted')).toMatchObject({ message: 'enough' });
  });
});
