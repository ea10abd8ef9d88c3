import { expect, test } from 'vitest';
import { cgroupFolders, cpusOf, parseCpuMax, parseOomKills } from '../../src/host/cgroup.ts';
import { usableCpus } from '../../src/host/cpus.ts';

test.each([
  [8, undefined, 8],
  [8, 2, 2],
  [8, 2.5, 2],
  [8, 0.5, 1],
  [2, 16, 2],
])('affinity %d with a quota of %s CPUs leaves %d', (affinity, quota, expected) => {
  expect(usableCpus(affinity, quota)).toBe(expected);
});

test.each([
  ['max 100000\n', undefined],
  ['200000 100000\n', 2],
  ['50000 100000\n', 0.5],
  ['', undefined],
])('cpu.max %j', (text, expected) => {
  expect(parseCpuMax(text)).toBe(expected);
});

test('a quota of -1 in cgroup v1 means no quota', () => {
  expect([cpusOf(-1, 100_000), cpusOf(150_000, 100_000)]).toEqual([undefined, 1.5]);
});

test.each([
  ['memory.events of v2', 'low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n', 2],
  ['memory.oom_control of v1', 'oom_kill_disable 0\nunder_oom 0\noom_kill 7\n', 7],
  ['a kernel that does not count', 'oom_kill_disable 0\nunder_oom 0\n', undefined],
])('OOM kills in %s', (_, text, expected) => {
  expect(parseOomKills(text)).toBe(expected);
});

test.each<[string, string, 'cpu' | 'memory', string[]]>([
  [
    'v2',
    '0::/kubepods/pod1\n',
    'cpu',
    ['/sys/fs/cgroup/kubepods/pod1', '/sys/fs/cgroup/kubepods', '/sys/fs/cgroup'],
  ],
  ['v2 in a cgroup namespace', '0::/\n', 'memory', ['/sys/fs/cgroup']],
  [
    'v1 with an empty v2',
    '5:memory:/job\n4:cpu,cpuacct:/docker/a\n0::/\n',
    'cpu',
    ['/sys/fs/cgroup/cpu/docker/a', '/sys/fs/cgroup/cpu/docker', '/sys/fs/cgroup/cpu'],
  ],
  ['no cgroups', '', 'cpu', []],
])('folders of %s', (_, text, controller, expected) => {
  expect(cgroupFolders(text, controller)).toEqual(expected);
});
