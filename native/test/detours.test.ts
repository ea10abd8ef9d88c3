import { beforeAll, describe, test } from 'vitest';
import { compiledFixture } from './support/compiled-fixture.ts';

describe('connections that may pass through a relay', () => {
  let run: (...args: string[]) => void;
  beforeAll(() => {
    run = compiledFixture('detours', [
      'transport/topology.cc',
      'transport/connect/kept_bytes.cc',
      'transport/connect/relay_choice.cc',
    ]);
  }, 60_000);

  test.each(['1', '2', '3', '4'])(
    'keep the bytes of a stream, whether they were copied or lent (seed %s)',
    (seed) => {
      run('kept', seed);
    },
  );

  test('copy lent bytes once a message overwrites them, or their sender takes them back', () => {
    run('lent');
  });

  test('are dialled directly first, then through each relay in turn, then directly again', () => {
    run('route');
  });

  test('may pass through one rank of each other host, the nearest first', () => {
    run('relays');
  });

  test('may pass through a host with known links, whose slowest one in both directions counts', () => {
    run('links');
  });
});
