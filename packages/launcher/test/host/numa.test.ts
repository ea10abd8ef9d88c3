import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cpusToBind } from '../../src/host/numa/binding.ts';
import type { Cpu } from '../../src/host/numa/binding.ts';
import { parseCpuList, readCpus, readGpuNodes } from '../../src/host/numa/topology.ts';
import { numaBindings } from '../../src/options/launch-options.ts';
import { launch, temporaryFolder, temporaryScript } from '../support/launched.ts';

/**
 * 2 sockets × 2 NUMA nodes × 4 cores × 2 threads. Thread t of core c is CPU c + 16 t; two cores share a last-level
 * cache.
 */
const machine: Cpu[] = Array.from({ length: 32 }, (_, id) => {
  const core = id % 16;
  return { id, core, node: Math.floor(core / 4), socket: Math.floor(core / 8), complex: core - (core % 2) };
});

const bound = (
  binding: (typeof numaBindings)[number],
  processes: number,
  gpuNodes: number[] = [],
  cpus = machine,
) =>
  Array.from({ length: processes }, (_, localRank) =>
    cpusToBind(binding, cpus, { localRank, processes, gpuNodes }).join(),
  );

describe('CPUs of workers', () => {
  test.each<[string, Parameters<typeof bound>, string[]]>([
    [
      'node: one worker each',
      ['node', 4],
      ['0,1,2,3,16,17,18,19', '4,5,6,7,20,21,22,23', '8,9,10,11,24,25,26,27', '12,13,14,15,28,29,30,31'],
    ],
    ['node: fewer workers than nodes', ['node', 2], ['0,1,2,3,16,17,18,19', '8,9,10,11,24,25,26,27']],
    [
      "node: that of the worker's GPU",
      ['node', 2, [3, 3, 0, 0]],
      ['12,13,14,15,28,29,30,31', '12,13,14,15,28,29,30,31'],
    ],
    [
      'socket',
      ['socket', 2, [1, 2]],
      ['0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23', '8,9,10,11,12,13,14,15,24,25,26,27,28,29,30,31'],
    ],
    [
      'exclusive: cores with both threads',
      ['exclusive', 8],
      [
        '0,1,16,17',
        '2,3,18,19',
        '4,5,20,21',
        '6,7,22,23',
        '8,9,24,25',
        '10,11,26,27',
        '12,13,28,29',
        '14,15,30,31',
      ],
    ],
    ['exclusive: the first get one more', ['exclusive', 3, [0, 0, 0]], ['0,1,16,17', '2,18', '3,19']],
    ['core-complex: in turns', ['core-complex', 3, [1, 1, 1]], ['4,5,20,21', '6,7,22,23', '4,5,20,21']],
    [
      'core-complex: the one of which most may be used',
      ['core-complex', 1, [0], machine.filter(({ id }) => id !== 1)],
      ['2,3,18,19'],
    ],
    [
      'a node that may not be used',
      ['node', 2, [0, 1], machine.filter(({ node }) => node !== 0)],
      ['4,5,6,7,20,21,22,23', '4,5,6,7,20,21,22,23'],
    ],
  ])('%s', (_, args, expected) => {
    expect(bound(...args)).toEqual(expected);
  });

  test('refuses exclusive with fewer cores than workers', () => {
    expect(() => bound('exclusive', 5, [0, 0, 0, 0, 0])).toThrow(
      /got 4 cores for the 5 workers on NUMA node 0.*Start fewer workers/,
    );
  });
});

describe("the kernel's files", () => {
  /** Creates the kernel's files of another machine. */
  function machineOf(files: Record<string, string>): { sys: string; proc: string } {
    const folder = temporaryFolder();
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), `${text}\n`);
    }
    return { sys: join(folder, 'sys'), proc: join(folder, 'proc') };
  }

  test('contain the topology of the CPUs', () => {
    const cpu = 'sys/devices/system/cpu/cpu5';
    const roots = machineOf({
      'proc/self/status': 'Name:\tnode\nCpus_allowed:\t20\nCpus_allowed_list:\t5',
      'sys/devices/system/node/node0/cpulist': '0-3',
      'sys/devices/system/node/node1/cpulist': '4-7',
      'sys/devices/system/node/has_cpu': '0-1',
      [`${cpu}/topology/thread_siblings_list`]: '4-5',
      [`${cpu}/topology/physical_package_id`]: '1',
      [`${cpu}/cache/index0/level`]: '1',
      [`${cpu}/cache/index0/shared_cpu_list`]: '5',
      [`${cpu}/cache/index3/level`]: '3',
      [`${cpu}/cache/index3/shared_cpu_list`]: '2,4-7',
    });
    expect(readCpus(roots)).toEqual([{ id: 5, node: 1, core: 4, socket: 1, complex: 2 }]);
  });

  test('contain the NUMA nodes of the GPUs, unless the firmware does not know them', () => {
    const gpus = {
      'proc/driver/nvidia/gpus/0000:81:00.0/information': 'Model: GPU',
      'proc/driver/nvidia/gpus/0000:0A:00.0/information': 'Model: GPU',
      'sys/bus/pci/devices/0000:81:00.0/numa_node': '1',
    };
    expect(readGpuNodes(machineOf({ ...gpus, 'sys/bus/pci/devices/0000:0a:00.0/numa_node': '0' }))).toEqual([
      0, 1,
    ]);
    expect(readGpuNodes(machineOf({ ...gpus, 'sys/bus/pci/devices/0000:0a:00.0/numa_node': '-1' }))).toEqual(
      [],
    );
    expect(readGpuNodes(machineOf({ 'sys/x': '' }))).toEqual([]);
  });

  test('without NUMA nodes cause a refusal', () => {
    const roots = machineOf({ 'proc/self/status': 'Cpus_allowed_list:\t0-1' });
    expect(() => readCpus(roots)).toThrow(
      /expected NUMA nodes in .*sys\/devices\/system\/node, got none\. Remove the option/,
    );
  });

  test.each([
    ['0-2,5,8-9', [0, 1, 2, 5, 8, 9]],
    ['7', [7]],
    ['', []],
  ])('list %j', (text, expected) => {
    expect(parseCpuList(text)).toEqual(expected);
  });
});

const show = `
  import { readFileSync } from 'node:fs';
  console.log('CPUS', process.env.RANK, /Cpus_allowed_list:\\s*(\\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);`;

test.each(numaBindings)(
  '--numa-binding %s: workers run on CPUs that this process may use',
  async (binding) => {
    const own = readCpus();
    const { code, stdout, stderr } = await launch(['--numa-binding', binding, temporaryScript('a.mjs', show)])
      .ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const expected = cpusToBind(binding, own, { localRank: 0, processes: 1, gpuNodes: readGpuNodes() });
    expect(parseCpuList(stdout.trim().split(' ')[2])).toEqual(expected);
    expect(expected.length).toBeLessThanOrEqual(availableParallelism());
  },
);

test('refuses --numa-binding without taskset', async () => {
  const { code, stderr } = await launch(['--numa-binding', 'node', temporaryScript('a.mjs', show)], {
    env: { PATH: temporaryFolder() },
  }).ended;
  expect(code).toBe(2);
  expect(stderr).toContain(
    'The program taskset is not in PATH. --numa-binding needs it. Install the package util-linux.',
  );
});
