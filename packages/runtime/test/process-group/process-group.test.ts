import { InvalidArgumentError } from '@ringrun/collectives';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  allReduce,
  allReduceSync,
  barrier,
  barrierSync,
  broadcast,
  broadcastSync,
  defaultGroup,
  destroyProcessGroup,
  getBackend,
  getRank,
  getWorldSize,
  initProcessGroup,
  isInitialized,
} from '../../src/process-group/index.ts';
import type { InitProcessGroupOptions } from '../../src/process-group/index.ts';

beforeEach(() => {
  for (const name of ['RANK', 'WORLD_SIZE', 'RINGRUN_STORE']) vi.stubEnv(name, undefined);
});

test('before the group exists every function says what to call first', async () => {
  expect(isInitialized()).toBe(false);
  for (const use of [getRank, getWorldSize, getBackend, defaultGroup, barrierSync]) {
    expect(use).toThrow(/await initProcessGroup\(\) first/);
  }
  await expect(allReduce(new Float32Array(1))).rejects.toMatchObject({ code: 'ERR_NOT_INITIALIZED' });
  await expect(destroyProcessGroup()).rejects.toMatchObject({ code: 'ERR_NOT_INITIALIZED' });
});

test('choices that do not exist are refused, and change nothing', async () => {
  const refused: [options: object, message: RegExp][] = [
    [{ backend: 'nccl' }, /nccl backend does not exist yet: expected 'gloo'/],
    [{ backend: 'mpi' }, /no backend "mpi"/],
    [{ initMethod: 'tcp://127.0.0.1:1' }, /initMethod is "tcp:\/\/127\.0\.0\.1:1", expected 'env:\/\/'/],
    [{ rank: 0 }, /RANK is 0, but WORLD_SIZE is not set/],
    [{ rank: 2, worldSize: 2 }, /from 0 to 1/],
    [{ timeoutMs: -5, rank: 0, worldSize: 1 }, /timeoutMs is -5/],
  ];
  for (const [options, message] of refused) {
    const error = await initProcessGroup(options as InitProcessGroupOptions).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toMatch(message);
    expect(isInitialized()).toBe(false);
  }
});

test('a world of one computes, refuses a second start, and can be ended and begun again', async () => {
  for (let round = 0; round < 2; round++) {
    const starting = initProcessGroup();
    expect(() => getRank()).toThrow(/still being initialised/);
    await starting;
    await expect(initProcessGroup()).rejects.toMatchObject({ code: 'ERR_ALREADY_INITIALIZED' });
    expect([isInitialized(), getRank(), getWorldSize(), getBackend()]).toEqual([true, 0, 1, 'gloo']);

    const values = Float32Array.of(1, 2, 3);
    await allReduce(values, { op: 'AVG' });
    allReduceSync(values, { group: defaultGroup() });
    await broadcast(values, { src: 0 });
    broadcastSync(values);
    await barrier();
    barrierSync();
    expect([...values]).toEqual([1, 2, 3]);

    await Promise.all([destroyProcessGroup(), destroyProcessGroup()]);
    expect(isInitialized()).toBe(false);
    expect(() => getRank()).toThrow(/was destroyed/);
  }
});
