import { InvalidArgumentError } from '@ringrun/core';
import { beforeEach, expect, test, vi } from 'vitest';
import * as dist from '../../src/process-group/index.ts';
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
  newGroup,
} from '../../src/process-group/index.ts';
import { enterState } from '../../src/process-group/state.ts';
import type { InitProcessGroupOptions } from '../../src/process-group/index.ts';

beforeEach(() => {
  for (const name of ['RANK', 'WORLD_SIZE', 'RINGRUN_STORE']) vi.stubEnv(name, undefined);
});

test('before initialization every function names the missing call', async () => {
  // Another test of this process may have left a destroyed group.
  enterState({ phase: 'none' });
  expect(isInitialized()).toBe(false);
  for (const use of [getRank, getWorldSize, getBackend, defaultGroup, barrierSync]) {
    expect(use).toThrow(/Await initProcessGroup\(\) first/);
  }
  await expect(allReduce(new Float32Array(1))).rejects.toMatchObject({ code: 'ERR_NOT_INITIALIZED' });
  await expect(destroyProcessGroup()).rejects.toMatchObject({ code: 'ERR_NOT_INITIALIZED' });
  await expect(newGroup()).rejects.toMatchObject({ code: 'ERR_NOT_INITIALIZED' });
  expect(() => dist.getGroupRank(null, 0)).toThrow(/Await initProcessGroup\(\) first/);
});

test('refuses invalid options, and can be initialized afterwards', async () => {
  const refused: [options: object, message: RegExp][] = [
    [{ backend: 'mpi' }, /expected the backend 'gloo' .* or 'nccl' .*, got "mpi"/],
    [{ device: 0 }, /expected device only with .* 'nccl', got device 0 with the backend 'gloo'/],
    [{ initMethod: 'tcp://127.0.0.1:1' }, /rank and worldSize are missing/],
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

test('a world of one computes, refuses a second init, and can be initialized again', async () => {
  for (let round = 0; round < 2; round++) {
    const starting = initProcessGroup();
    expect(() => getRank()).toThrow(/still being initialized/);
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

test("the backend 'cpu' is an alias of 'gloo', which the group reports", async () => {
  await initProcessGroup({ backend: 'cpu' });
  expect([getBackend(), defaultGroup().backend]).toEqual(['gloo', 'gloo']);
  await destroyProcessGroup();
});

test('newGroup works in a world of one', async () => {
  await initProcessGroup();
  const group = (await newGroup([0], { timeoutMs: 5000 }))!;
  const other = (await newGroup())!;
  expect(group).not.toBe(other);
  expect([getRank(group), getWorldSize(group), getBackend(group)]).toEqual([0, 1, 'gloo']);
  expect(dist.getProcessGroupRanks(group)).toEqual([0]);
  expect(dist.getProcessGroupRanks()).toEqual([0]);
  expect([dist.getGroupRank(group, 0), dist.getGlobalRank(group, 0)]).toEqual([0, 0]);
  const values = Float32Array.of(1, 2);
  await allReduce(values, { group });
  await broadcast(values, { group: other, src: 0 });
  expect([...values]).toEqual([1, 2]);
  expect(await dist.broadcastObject({ a: 1 }, { group })).toEqual({ a: 1 });

  await destroyProcessGroup(group);
  await expect(allReduce(values, { group })).rejects.toMatchObject({ code: 'ERR_GROUP_DESTROYED' });
  await expect(broadcast(values, { group })).rejects.toThrow(/^Unknown group/);
  await expect(destroyProcessGroup(group)).rejects.toThrow(/^Unknown group/);
  await allReduce(values, { group: other });
  await destroyProcessGroup();
  await expect(other.barrier()).rejects.toMatchObject({ code: 'ERR_GROUP_DESTROYED' });
});

test('refuses invalid ranks, without counting the call', async () => {
  await initProcessGroup();
  await expect(newGroup([])).rejects.toThrow(/ranks are \[\], expected/);
  await expect(newGroup([0, 0])).rejects.toThrow(/got 0 twice/);
  await expect(newGroup([1])).rejects.toThrow(/integers from 0 to 0/);
  await expect(newGroup([0], { timeoutMs: 0 })).rejects.toThrow(/timeoutMs is 0/);
  expect(await newGroup([0])).not.toBeNull();
  await destroyProcessGroup();
});

test('a rank outside the group is refused with the ranks of the group', async () => {
  await initProcessGroup();
  const values = new Float32Array(1);
  await expect(broadcast(values, { src: 1 })).rejects.toThrow(
    /^src is 1, expected a rank of the default group that is in this group: rank 0\.$/,
  );
  await expect(dist.reduce(values, { dst: -1 })).rejects.toThrow(/^dst is -1, expected/);
  await expect(dist.gatherObject(1, { dst: 2 })).rejects.toThrow(/^dst is 2, expected/);
  await expect(dist.send(values, 1)).rejects.toThrow(/^dst is 1, expected/);
  expect(() => dist.irecv(values, { src: 1 })).toThrow(/^src is 1, expected/);
  await destroyProcessGroup();
});

test('every operation refuses the group null', async () => {
  await initProcessGroup();
  const values = new Float32Array(1);
  const options = { group: null };
  const operations: Record<string, () => unknown> = {
    allReduce: () => dist.allReduce(values, options),
    allReduceCoalesced: () => dist.allReduceCoalesced([values], options),
    reduce: () => dist.reduce(values, options),
    reduceScatter: () => dist.reduceScatter(values, values, options),
    broadcast: () => dist.broadcast(values, options),
    allGather: () => dist.allGather(values, values, options),
    gather: () => dist.gather(values, { ...options, output: values }),
    scatter: () => dist.scatter(values, { ...options, input: values }),
    allToAll: () => dist.allToAll(values, values, options),
    barrier: () => dist.barrier(options),
    monitoredBarrier: () => dist.monitoredBarrier(options),
    send: () => dist.send(values, 0, options),
    recv: () => dist.recv(values, options),
    broadcastObject: () => dist.broadcastObject(1, options),
    allGatherObject: () => dist.allGatherObject(1, options),
    gatherObject: () => dist.gatherObject(1, options),
    scatterObject: () => dist.scatterObject([1], options),
  };
  for (const [name, operate] of Object.entries(operations)) {
    await expect(operate(), name).rejects.toMatchObject({ code: 'ERR_NOT_IN_GROUP' });
  }
  const refusal = /do not include this one, rank 0 of 1/;
  expect(() => dist.isend(values, 0, options)).toThrow(refusal);
  expect(() => dist.irecv(values, options)).toThrow(refusal);
  expect(() => dist.getProcessGroupRanks(null)).toThrow(refusal);
  expect([getRank(null), getWorldSize(null)]).toEqual([-1, -1]);
  await destroyProcessGroup(null);
  expect(isInitialized()).toBe(true);
  await destroyProcessGroup();
});

test('every operation in a world of one returns its input', async () => {
  await initProcessGroup();
  const given = Float32Array.of(1, 2);
  for (const sync of ['', 'Sync'] as const) {
    const output = () => new Float32Array(2);
    const outputs = Array.from({ length: 5 }, output);
    await dist[`reduce${sync}`](outputs[0]);
    await dist[`allReduceCoalesced${sync}`]([given, Float32Array.of(3)]);
    await dist[`reduceScatter${sync}`](outputs[0], given);
    await dist[`allGather${sync}`](outputs[1], given);
    await dist[`gather${sync}`](given, { output: outputs[2] });
    await dist[`scatter${sync}`](outputs[3], { input: [given] });
    await dist[`allToAll${sync}`](outputs[4], given, { inputSplitSizes: [2] });
    for (const one of outputs) expect([...one]).toEqual([1, 2]);
    await dist[`monitoredBarrier${sync}`]();
    expect(await dist[`allGatherObject${sync}`]({ given })).toEqual([{ given }]);
    expect(await dist[`gatherObject${sync}`]({ given })).toEqual([{ given }]);
    expect(await dist[`scatterObject${sync}`]([{ given }])).toEqual({ given });
  }
  await destroyProcessGroup();
});
