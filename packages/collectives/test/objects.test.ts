import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCpuGroup, HashStore } from '@ringrun/collectives';
import type { ProcessGroup } from '@ringrun/core';

import { runRanks } from './support/ranks.ts';

describe('a group of one', () => {
  let group: ProcessGroup;
  beforeAll(async () => {
    group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1 });
  });
  afterAll(() => group.destroy());

  const object = { list: [1, undefined], map: new Map([['k', 2n]]) };

  test('sends objects to itself', async () => {
    expect(await group.broadcastObject(object)).toBe(object);
    expect(await group.allGatherObject(object)).toStrictEqual([object]);
    expect(await group.gatherObject(object)).toStrictEqual([object]);
    expect(await group.scatterObject([object])).toStrictEqual(object);
    expect(group.broadcastObjectSync(object)).toBe(object);
    expect(group.allGatherObjectSync(object)).toStrictEqual([object]);
    expect(group.gatherObjectSync(object)).toStrictEqual([object]);
    expect(group.scatterObjectSync([object])).toStrictEqual(object);
  });

  test('refuses an object that cannot be sent, and remains usable', async () => {
    await expect(group.allGatherObject([test])).rejects.toThrow(/object\[0\] is a function/);
    await expect(group.scatterObject([test])).rejects.toThrow(/objects\[0\] is a function/);
    await expect(group.scatterObject(undefined)).rejects.toThrow(
      /objects is undefined .*, expected a list of 1/,
    );
    await expect(group.scatterObject([1, 2])).rejects.toThrow(
      /objects is a list of 2 .*, expected a list of 1/,
    );
    expect(() => group.gatherObjectSync(test)).toThrow(/object is a function/);
    expect(await group.allGatherObject(5)).toEqual([5]);
  });

  test('refuses a synchronous operation while an object collective is pending', async () => {
    const broadcasting = group.broadcastObject(object);
    expect(() => {
      group.barrierSync();
    }).toThrow(/await the promise of broadcastObject/);
    await broadcasting;
    await group.barrier();
    group.barrierSync();
  });
});

const transports = ['shm', 'tcp'];

test.each(transports)(
  'an object that cannot be sent stops every rank over %s, with the name of its rank',
  async (transport) => {
    const odd = 1;
    const reports = await runRanks(3, 'objectThatCannotBeSent', {
      args: { odd },
      env: { RINGRUN_TRANSPORT: transport },
    });
    for (const [rank, { errors, sum }] of reports.entries()) {
      const code = rank === odd ? 'ERR_INVALID_ARGUMENT' : 'ERR_OBJECT_NOT_PACKED';
      const ofObject = rank === odd ? /^object\.hook is a function/ : /^rank 1 of this group could not pack/;
      const ofList =
        rank === odd ? /^objects\[2\]\.hook is a function/ : /^rank 1 of this group could not pack/;
      const ofShort =
        rank === odd ? /^objects is a list of 1 .*, expected a list of 3/ : /^rank 1 of this group/;
      const matching = (message: RegExp) => ({ code, message: expect.stringMatching(message) as string });
      expect(errors).toEqual({
        broadcastObject: matching(ofObject),
        allGatherObject: matching(ofObject),
        gatherObject: matching(ofObject),
        scatterObject: matching(ofList),
        listThatIsTooShort: matching(ofShort),
      });
      expect(sum).toBe(3);
    }
  },
);

test.each(transports)(
  'object collectives keep their order among other operations over %s',
  async (transport) => {
    const reports = await runRanks(3, 'objectsAmongOthers', { env: { RINGRUN_TRANSPORT: transport } });
    for (const report of reports) {
      expect(report).toEqual({ order: ['first', 'sum', 'second', 'max'], sums: [3, 2] });
    }
  },
);
