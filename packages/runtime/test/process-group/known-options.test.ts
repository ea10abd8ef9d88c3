import { createCpuGroup, HashStore } from '@ringrun/collectives';
import { collectiveNames, InvalidArgumentError } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as ringrun from '../../src/index.ts';

/** Never created. */
const unusedFolder = `/tmp/ringrun-${process.pid}/unused`;

/** An untyped call, as from JavaScript. A function that throws counts as a promise that rejects. */
type Callee = (...inputs: unknown[]) => unknown;
const call =
  (callee: unknown, ...inputs: unknown[]) =>
  async () =>
    await (callee as Callee)(...inputs);
const make =
  (callee: unknown, ...inputs: unknown[]) =>
  () =>
    Promise.resolve().then(() => new (callee as new (...inputs: unknown[]) => unknown)(...inputs));

async function refuses(act: () => Promise<unknown>, message: string): Promise<void> {
  const refusal = act();
  await expect(refusal).rejects.toThrow(InvalidArgumentError);
  await expect(refusal).rejects.toThrow(message);
}

const x = new Float32Array(2);

/** Arguments before the options, and torch's positional argument in place of the options. */
const collectives = {
  allReduce: [[x], 'op'],
  allReduceCoalesced: [[[x]], 'op'],
  reduce: [[x], 'dst'],
  reduceScatter: [[x, x], 'op'],
  broadcast: [[x], 'src'],
  allGather: [[x, x], 'group'],
  gather: [[x], 'output'],
  scatter: [[x], 'input'],
  allToAll: [[x, x], 'outputSplitSizes'],
  send: [[x, 0], 'tag'],
  isend: [[x, 0], 'tag'],
  recv: [[x], 'src'],
  irecv: [[x], 'src'],
  barrier: [[], 'group'],
  monitoredBarrier: [[], 'group'],
  broadcastObject: [[1], 'src'],
  allGatherObject: [[1], 'group'],
  gatherObject: [[1], 'dst'],
  scatterObject: [[[1]], 'src'],
} as const;

const forms = Object.entries(collectives).flatMap(([name, [inputs, option]]) => {
  const names = name === 'isend' || name === 'irecv' ? [name] : [name, `${name}Sync`];
  return names.map((form) => ({ form, inputs, option }));
});

beforeAll(() => ringrun.initProcessGroup());
afterAll(() => ringrun.destroyProcessGroup());

describe.each(['the function', 'the method'])('%s', (kind) => {
  let group: ProcessGroup;
  beforeAll(async () => {
    group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1 });
  });
  afterAll(() => group.destroy());

  test.each(forms)(
    '$form refuses a positional argument and unknown options',
    async ({ form, inputs, option }) => {
      const functions = ringrun as unknown as Record<string, Callee>;
      const methods = group as unknown as Record<string, Callee>;
      const run = (options: unknown) =>
        kind === 'the function'
          ? call(functions[form], ...inputs, options)
          : call(methods[form].bind(group), ...inputs, options);
      // If only the array of a message is invalid, that error is thrown instead.
      await refuses(
        run('MAX'),
        `${form}: expected an object of options, got 'MAX'. Write it by name, as in { ${option}: 'MAX' }.`,
      );
      await refuses(run({ async_op: true }), `${form}: async_op is not an option. Its options are ${option}`);
      await refuses(run({ timeout: 1 }), `${form}: timeout is not an option. Did you mean timeoutMs?`);
    },
  );

  test('refuses a group as options, and the option group of a method', async () => {
    await refuses(
      call(ringrun.barrier, group),
      'barrier: expected an object of options, got an object of class CpuGroup.',
    );
    await refuses(
      call(group.barrier.bind(group), { group: ringrun.defaultGroup() }),
      'barrier: the option group is a different group',
    );
    await group.broadcastObject(1, { group } as object);
    await ringrun.broadcastObject(1, { group: ringrun.defaultGroup() });
  });
});

test('every collective of the declaration is a function of the package', () => {
  const expected = collectiveNames.flatMap((name) => [name, `${name}Sync`]);
  expect(expected.filter((name) => !(name in ringrun))).toEqual([]);
});

describe('refuses', () => {
  const report = async () => {
    const begun = await ringrun.trainingReport({ samples: 1, output: { write: () => true } as never });
    return await call(begun.step.bind(begun), 0.5)();
  };
  test.each([
    [
      call(ringrun.newGroup, [0], 5),
      'newGroup: expected an object of options, got 5. Write it by name, as in { timeoutMs: 5 }.',
    ],
    [
      () => ringrun.FileStore.open('/none', 2 as never),
      'FileStore.open: expected an object of options, got 2. Write it by name, as in { worldSize: 2 }.',
    ],
    [
      () => ringrun.TCPStore.open({ host: 'x', port: 1, world_size: 2 } as never),
      'TCPStore.open: world_size is not an option. Did you mean worldSize?',
    ],
    [
      call(ringrun.connectStore, 'localhost'),
      "connectStore: expected an object of options, got 'localhost'.",
    ],
    [() => new HashStore().get('a', 5 as never), 'get: expected an object of options, got 5.'],
    [
      () => new HashStore().wait(['a'], { timeout: 5 } as never),
      'wait: timeout is not an option. Did you mean timeoutMs?',
    ],
    [make(HashStore, 5), 'HashStore: expected'],
    [
      call(createCpuGroup, { store: new HashStore(), rank: 0, world_size: 1 }),
      'createCpuGroup: world_size is not an option. Its options are store, rank, size',
    ],
    [
      make(ringrun.DataLoader, [1, 2], 32),
      'DataLoader: expected an object of options, got 32. Write it by name, as in { batchSize: 32 }.',
    ],
    [
      make(ringrun.DataLoader, [1, 2], { batch_size: 32 }),
      'DataLoader: batch_size is not an option. Did you mean batchSize?',
    ],
    [
      make(ringrun.DataLoader, [1, 2], { pin_memory: true }),
      'DataLoader: pin_memory is not an option. Its options are batchSize, shuffle,',
    ],
    [make(ringrun.DistributedSampler, 8, 2, 0), 'as in { numReplicas: 2 }'],
    [make(ringrun.DistributedSampler, 8, { num_replicas: 2 }), 'Did you mean numReplicas?'],
    [make(ringrun.RandomSampler, 8, 7), 'as in { seed: 7 }'],
    [make(ringrun.transforms.RandomCrop, 8, 4), 'as in { padding: 4 }'],
    [make(ringrun.transforms.RandomHorizontalFlip, 0.3), 'as in { p: 0.3 }'],
    [call(ringrun.defaultCollate, [1], true), 'as in { adopt: true }'],
    [call(ringrun.loadMnist, '/data'), "loadMnist: expected an object of options, got '/data'."],
    [
      call(ringrun.loadCifar10, { root: '/data' }),
      'loadCifar10: root is not an option. Its options are split, location, transform.',
    ],
    [
      call(ringrun.prepareMnist, '/data'),
      "prepareMnist: expected an object of options, got '/data'. Write it by name, as in { location: '/data' }.",
    ],
    [call(ringrun.prepareCifar10, '/data'), "as in { location: '/data' }"],
    [
      make(ringrun.DistributedDataParallel, {}, [0]),
      'DistributedDataParallel: expected an object of options, got an array of 1.',
    ],
    [
      make(ringrun.DistributedDataParallel, {}, { device_ids: [0] }),
      'DistributedDataParallel: device_ids is not an option. Its options are processGroup, bucketCapMb',
    ],
    [make(ringrun.DistributedDataParallel, {}, { bucket_cap_mb: 1 }), 'Did you mean bucketCapMb?'],
    [call(ringrun.commHooks.powerSgd, 2), 'as in { matrixApproximationRank: 2 }'],
    [
      make(ringrun.Checkpointer, unusedFolder),
      `Checkpointer: expected an object of options, got '${unusedFolder}'. Write it by name, as in { dir: '${unusedFolder}' }.`,
    ],
    [
      () => new ringrun.Checkpointer({ dir: unusedFolder }).save(5 as never),
      'Checkpointer.save: expected an object of options, got 5. Write it by name, as in { step: 5 }.',
    ],
    [
      () => new ringrun.Checkpointer({ dir: unusedFolder }).resume('auto', false as never),
      'as in { strict: false }',
    ],
    [
      call((options: unknown) => {
        new ringrun.Checkpointer({ dir: unusedFolder }).register({}, options as never);
      }, true),
      'as in { perRank: true }',
    ],
    [
      call(ringrun.schedule, 1, 1, 3),
      'schedule: expected an object of options, got 1. Write it by name, as in { wait: 1 }.',
    ],
    [call(ringrun.profile, 'trace.json'), "as in { path: 'trace.json' }"],
    [
      make(ringrun.SummaryWriter, 'logs'),
      "SummaryWriter: expected an object of options, got 'logs'. Write it by name, as in { logDir: 'logs' }.",
    ],
    [call(ringrun.trainingReport, 100), 'as in { samples: 100 }'],
    [
      report,
      'TrainingReport.step: expected an object of options, got 0.5. Write it by name, as in { loss: 0.5 }.',
    ],
    [call(ringrun.installErrorRecord, true), 'as in { shownByLauncher: true }'],
  ] as [act: () => Promise<unknown>, message: string][])('%#', refuses);

  test('initProcessGroup with a positional backend', async () => {
    await ringrun.destroyProcessGroup();
    await refuses(
      call(ringrun.initProcessGroup, 'nccl'),
      "initProcessGroup: expected an object of options, got 'nccl'. Write it by name, as in { backend: 'nccl' }.",
    );
    await refuses(call(ringrun.initProcessGroup, { init_method: 'env://' }), 'Did you mean initMethod?');
    await ringrun.initProcessGroup();
  });
});
