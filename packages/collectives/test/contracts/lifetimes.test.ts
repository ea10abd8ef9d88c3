import { expect, test } from 'vitest';

import { ways } from '../../../../test/support/extent.ts';
import { runRanks } from '../support/ranks.ts';

const transports = ['shm', 'tcp'];
const names = [
  'allReduce',
  'allReduceCoalesced',
  'broadcast',
  'reduce',
  'reduceScatter',
  'allGather',
  'allToAll',
  'message',
];
const major = Number(process.versions.node.split('.')[0]);
/** See `lengthRatios` of the script. */
const drops = major >= 24 ? 6 : major >= 22 ? 4 : 3;
const reduces = (name: string): boolean => name.startsWith('allReduce');

test.each(ways(['shm'], ['tcp']))(
  'an operation over %s completes in memory that was transferred and dropped while it ran',
  async (transport) => {
    const reports = await runRanks(2, 'transferDuringOperations', { env: { RINGRUN_TRANSPORT: transport } });
    const results = reports[0]['results'] as Record<string, object>;
    expect(Object.keys(results)).toHaveLength(names.length * drops);
    for (const [name, result] of Object.entries(results)) {
      expect(result, name).toMatchObject({ left: 0, wrong: 0 });
      // The caller of structuredClone owns the memory.
      if (reduces(name) && name.endsWith(' 0')) expect(result, name).toMatchObject({ reduced: 2 });
    }
  },
);

test('an operation completes in WebAssembly memory that grows while it runs', async () => {
  const reports = await runRanks(2, 'growingWasmMemory');
  const results = reports[0]['results'] as Record<string, object>;
  expect(Object.keys(results)).toEqual(names);
  for (const [name, result] of Object.entries(results)) {
    expect(result, name).toEqual({ left: 0, value: /reduce/i.test(name) ? 2 : 1 });
  }
});

test('asynchronous operations refuse resizable buffers and accept growable shared memory', async () => {
  const reports = await runRanks(2, 'resizableBuffers');
  for (const { refused, ...rest } of reports) {
    expect(Object.keys(refused as object)).toEqual(names);
    for (const message of Object.values(refused as Record<string, string>))
      expect(message).toContain('expected memory of a fixed size, got a resizable ArrayBuffer');
    expect(rest).toEqual({ still: 2, shared: 2, grown: 600_000 });
  }
});

test.each(transports)(
  'memory that JavaScript drops is kept until its operation over %s ends',
  async (transport) => {
    const reports = await runRanks(2, 'droppedArrays', { env: { RINGRUN_TRANSPORT: transport } });
    for (const report of reports) expect(report).toEqual({ left: 0 });
  },
);

test.runIf(process.platform === 'linux').each(transports)(
  'a process that a rank starts inherits no descriptor of a group over %s',
  async (transport) => {
    const reports = await runRanks(2, 'childOfRank', { env: { RINGRUN_TRANSPORT: transport } });
    for (const report of reports) expect(report).toEqual({ opened: true, inherited: [] });
  },
);
