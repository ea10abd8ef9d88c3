import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { judgeRoute } from '../../../src/commands/doctor/checks/address.ts';
import type { Route } from '../../../src/commands/doctor/checks/address.ts';
import { judgeClock } from '../../../src/commands/doctor/checks/clock.ts';
import { judgeClocks, judgeLink, judgeLinkFailure } from '../../../src/commands/doctor/checks/link.ts';
import { judgeName } from '../../../src/commands/doctor/checks/name.ts';
import { judgeNode } from '../../../src/commands/doctor/checks/node-version.ts';
import { judgeOnnxruntime } from '../../../src/commands/doctor/checks/onnxruntime.ts';
import { parseOpenFilesLimit } from '@ringrun/core';
import { judgeOpenFiles } from '../../../src/commands/doctor/checks/open-files.ts';
import { judgeConnection, judgeBinding } from '../../../src/commands/doctor/checks/port.ts';
import { judgeSharedMemory } from '../../../src/commands/doctor/checks/shared-memory.ts';
import { judgeSystem } from '../../../src/commands/doctor/checks/system.ts';
import { judgeThreads } from '../../../src/commands/doctor/checks/threads.ts';
import { exitCodeFor, formatFinding, formatSummary } from '../../../src/commands/doctor/finding.ts';
import type { OnnxruntimeAnswer } from '../../../src/commands/doctor/probes/onnxruntime.ts';
import type { LinkMeasurement } from '../../../src/commands/doctor/link-measurement.ts';
import { words } from './words.ts';

describe('the machine', () => {
  test('Windows is a problem, with WSL 2 as its fix', () => {
    expect(words(judgeSystem('win32')!)).toMatch(
      /^problem: expected Linux or macOS, got Windows, .* → Use WSL 2/,
    );
    expect([judgeSystem('linux'), judgeSystem('darwin')]).toEqual([undefined, undefined]);
  });

  test('a Node older than the oldest tested releases is a problem', () => {
    for (const version of ['v18.20.8', 'v20.18.3', 'v21.7.3', 'v22.11.0'])
      expect(words(judgeNode(version, 'tsx'))).toMatch(
        /^problem: Node v.* is not supported → install Node 20\.19, 22\.12 or/,
      );
    for (const version of ['v20.19.0', 'v20.20.2'])
      expect(words(judgeNode(version, 'tsx'))).toBe(
        `ok: ${version} (end of life since April 2026: install Node 24), runs TypeScript through tsx`,
      );
    for (const version of ['v22.12.0', 'v23.0.0', 'v24.1.0', 'v26.0.0'])
      expect(words(judgeNode(version, 'tsx'))).toBe(`ok: ${version}, runs TypeScript through tsx`);
  });

  test('the line about Node reports whether it runs TypeScript, and what to install', () => {
    expect(words(judgeNode('v22.18.0', 'node'))).toBe(
      'ok: v22.18.0, runs TypeScript by itself (with tsx also enums and the like: npm install tsx)',
    );
    expect(words(judgeNode('v20.19.0', undefined))).toBe(
      'ok: v20.19.0 (end of life since April 2026: install Node 24), runs JavaScript (with tsx also TypeScript: npm install tsx)',
    );
  });

  test('every package.json requires the same Node', () => {
    const root = new URL('../../../../../', import.meta.url);
    const packages = readdirSync(new URL('packages/', root)).map((name) => `packages/${name}/`);
    for (const folder of ['', 'native/', ...packages]) {
      const text = readFileSync(new URL(`${folder}package.json`, root), 'utf8');
      expect((JSON.parse(text) as { engines: { node: string } }).engines.node).toBe('^20.19.0 || >=22.12.0');
    }
  });

  test('a clock set before 2025 is a problem', () => {
    expect(words(judgeClock(0))).toMatch(/^problem: this machine's clock shows 1970-01-01T.* → .*set-ntp/);
    expect(judgeClock(Date.UTC(2026, 10, 22)).level).toBe('ok');
  });

  test.each([
    [
      { affinity: 64, quota: 2.5, ompNumThreads: undefined },
      /^ok: 2 of 64 CPUs \(cgroup quota 2.5\); the launcher/,
    ],
    [
      { affinity: 64, quota: 0.5, ompNumThreads: undefined },
      /^warning: 1 of 64 CPUs .* quota 0.5\): the kernel throttles .* → .*limits.cpu/,
    ],
    [
      { affinity: 4, quota: undefined, ompNumThreads: '8' },
      /^warning: 4 CPUs; OMP_NUM_THREADS=8 makes .* → unset it/,
    ],
    [
      { affinity: 4, quota: undefined, ompNumThreads: 'many' },
      /^warning: 4 CPUs; OMP_NUM_THREADS is "many", which is not a number/,
    ],
    [{ affinity: 4, quota: 8, ompNumThreads: '4' }, /^ok: 4 CPUs; OMP_NUM_THREADS=4 for each process/],
    [{ affinity: 1, quota: undefined, ompNumThreads: '' }, /^ok: 1 CPU; /],
  ])('threads of %j', (budget, expected) => {
    expect(words(judgeThreads(budget))).toMatch(expected);
  });

  test('the limit of open files is read from /proc; one below 256 processes is a warning', () => {
    const line = (soft: string) =>
      `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}     4096      files\n`;
    expect(parseOpenFilesLimit(line('256'))).toBe(256);
    expect(parseOpenFilesLimit(line('unlimited'))).toBe(Infinity);
    expect(parseOpenFilesLimit('')).toBeUndefined();
    expect(words(judgeOpenFiles(256))).toMatch(
      /^warning: the limit is 256, .* in a job of 65 or more processes → raise it: ulimit -n/,
    );
    expect(words(judgeOpenFiles(1024))).toBe('ok: limit 1024');
  });

  test('forbidden shared memory is a warning, processes that cannot form a group are a problem', () => {
    const failed = (stderr: string) =>
      words(judgeSharedMemory({ kind: 'failure', why: 'exit code 1', stderr }));
    expect(
      failed(
        'InvalidArgumentError: transport shm was requested, but rank 0 (host a, pid 1) has no shared memory: memfd_create: EPERM: use RINGRUN_TRANSPORT=tcp, or leave it out',
      ),
    ).toMatch(/^warning: .*TCP: memfd_create: EPERM → .*seccomp/);
    expect(failed('PeerDiedError: rank 1 has died')).toMatch(/^problem: .*PeerDiedError: rank 1 has died → /);
  });

  test('a missing onnxruntime library is a warning; an unusable or wrong one is a problem', () => {
    const judged = (answer: OnnxruntimeAnswer) =>
      words(judgeOnnxruntime({ kind: 'answer', answer, stderr: '' }));
    const none = { usable: false, problem: 'expected a library, got none', fix: 'Run npm install' } as const;
    expect(judged({ ...none, isMissing: true })).toBe(
      'warning: no library of onnxruntime (expected a library, got none): collectives work, models of @ringrun/nn do not → Run npm install',
    );
    expect(judged({ ...none, isMissing: false })).toBe(
      'problem: onnxruntime cannot be used: expected a library, got none → Run npm install',
    );
    const library = { usable: true, path: '/lib/x.so', version: '1.30.0', milliseconds: 3 } as const;
    expect(judged({ ...library, doubled: [2, -4] })).toBe('ok: 1.30.0 loads and runs a graph in 3 ms');
    expect(judged({ ...library, doubled: [7, 7] })).toBe(
      'problem: onnxruntime 1.30.0 computes wrongly: expected 2, -4 for 2·(1, -2), got 7, 7 → install it again: remove /lib/x.so, then run npm install',
    );
  });
});

describe('the path to the master', () => {
  const named = { host: 'train-master-0', code: undefined, waitedMs: 3 };

  test('names: several hosts are a warning, a late name shows its delay, no answer is a problem', () => {
    expect(words(judgeName({ ...named, addresses: ['10.0.0.1', '10.0.0.2'] }))).toMatch(
      /^warning: .*ranks may connect to different hosts → use a name of one host/,
    );
    expect(words(judgeName({ ...named, addresses: ['10.0.0.1', 'fd00::1'] }))).toBe(
      'ok: train-master-0 resolves to 10.0.0.1, fd00::1',
    );
    expect(words(judgeName({ ...named, addresses: ['10.0.0.1'], waitedMs: 12_000 }))).toMatch(
      /, after 12 s$/,
    );
    expect(words(judgeName({ ...named, addresses: [], code: 'EAI_AGAIN', waitedMs: 30_000 }))).toMatch(
      /^problem: train-master-0 did not resolve within 30 s: EAI_AGAIN → no name server answers/,
    );
    expect(words(judgeName({ ...named, host: '10.0.0.1', addresses: ['10.0.0.1'] }))).toBe(
      'ok: 10.0.0.1 is an address',
    );
  });

  const route: Route = {
    host: 'train-master-0',
    masterAddress: '10.0.0.1',
    ownAddress: '10.0.0.2',
    obstacle: '',
    interfaces: [{ name: 'eth0', address: '10.0.0.2' }],
    nodeRank: undefined,
    nodes: undefined,
  };

  test.each<[Partial<Route>, RegExp]>([
    [{}, /^ok: other nodes connect to this node at 10.0.0.2 on eth0$/],
    [{ masterAddress: '10.0.0.2' }, /^ok: 10.0.0.2 on eth0 is the master address/],
    [
      { masterAddress: '10.0.0.2', nodeRank: 1 },
      /^warning: this is node 1, but the master address 10.0.0.2 belongs to this machine → /,
    ],
    [
      { nodeRank: 0 },
      /^warning: this is node 0, but train-master-0 is 10.0.0.1, and this machine's addresses are 10.0.0.2 on eth0 → /,
    ],
    [
      { ownAddress: '', obstacle: 'connect ENETUNREACH' },
      /^problem: no route to 10.0.0.1: connect ENETUNREACH → /,
    ],
    [
      { masterAddress: '127.0.1.1', ownAddress: '127.0.0.1' },
      /^warning: train-master-0 is 127.0.1.1 here, a loopback .* → .*\/etc\/hosts/,
    ],
    [
      { masterAddress: '127.0.1.1', ownAddress: '127.0.0.1', nodes: 3 },
      /^problem: .*each node would wait for itself → /,
    ],
    [
      { host: 'localhost', masterAddress: '127.0.0.1', ownAddress: '127.0.0.1' },
      /^ok: 127.0.0.1 is a loopback address: all processes/,
    ],
  ])('an address: %j', (change, expected) => {
    expect(words(judgeRoute({ ...route, ...change }))).toMatch(expected);
  });

  test('a port in use is a problem for the node that serves the store, otherwise a warning', () => {
    const held = { kind: 'held', owner: 'process 7 (nc -l)', store: false } as const;
    expect(words(judgeBinding(29500, held, true))).toMatch(
      /^problem: 29500 is in use by process 7 \(nc -l\) → end that process/,
    );
    expect(words(judgeBinding(29500, held, false))).toMatch(/^warning: .* → .*ringrun --nproc-per-node/);
    expect(judgeBinding(29500, { ...held, store: true }, true).level).toBe('ok');
    expect(words(judgeBinding(80, { kind: 'forbidden', why: 'EACCES' }, true))).toMatch(
      /^problem: cannot listen on 80: EACCES → use a port of 1024 or above/,
    );
  });

  test('dropped packets, refused connections and unresolved names have different fixes', () => {
    const attempt = { host: 'm', port: 29500, waitedMs: 30_000, greeting: '' };
    const addresses = ['10.0.0.1'];
    expect(
      words(
        judgeConnection({
          ...attempt,
          state: { kind: 'unreachable', addresses, failed: [{ address: addresses[0], code: 'ETIMEDOUT' }] },
        }),
      ),
    ).toMatch(/ETIMEDOUT\) → .*firewall, a NetworkPolicy/);
    expect(
      words(
        judgeConnection({
          ...attempt,
          state: {
            kind: 'refused',
            addresses,
            failed: addresses.map((address) => ({ address, code: 'ECONNREFUSED' })),
          },
        }),
      ),
    ).toMatch(/→ start the doctor, or the job/);
    expect(words(judgeConnection({ ...attempt, state: { kind: 'unresolved', code: 'ENOTFOUND' } }))).toMatch(
      /→ .*name server/,
    );
  });
});

describe('the link', () => {
  const link: LinkMeasurement = {
    peer: { host: 'host1', pid: 7 },
    transport: 'tcp',
    latencyUs: 90,
    clockAheadMs: 0.1,
    roundTripMs: 0.4,
    bytes: 2 ** 26,
    milliseconds: 67,
    bytesPerSecond: 1e9,
  };

  test('is checked for its rate, its latency, and the clocks of its hosts', () => {
    expect(words(judgeLink(link))).toBe(
      'ok: with host1 over TCP: 1 GB/s (8 Gbit/s), all-reduces of 67.1 MB; 90 µs for 4 B. Gradients of 10 million parameters take 40 ms',
    );
    expect(words(judgeLink({ ...link, bytesPerSecond: 1e7 }))).toMatch(
      /^warning: .*10 MB\/s \(0.08 Gbit\/s\).* take 4 s → /,
    );
    expect(words(judgeLink({ ...link, latencyUs: 20_000 }))).toMatch(
      /^warning: .*20 ms for 4 B.* → .*one zone/,
    );
    expect(words(judgeClocks(link))).toBe('ok: agree with host1 within 200 µs');
    expect(words(judgeClocks({ ...link, clockAheadMs: -90_000 }))).toMatch(
      /^warning: host1's clock is 90 s behind: .* → .*NTP/,
    );
  });

  test('that passes only small messages is reported with a fix about the MTU', () => {
    const failure = {
      stage: 'measuring',
      peer: 'host1',
      message: 'timed out',
      waitedMs: 30_000,
      command: 'ringrun doctor',
    } as const;
    expect(words(judgeLinkFailure({ ...failure, bytes: 131_072 }))).toMatch(
      /^problem: a message of 131 kB to host1 failed: timed out → .*MTU/,
    );
    expect(words(judgeLinkFailure({ ...failure, bytes: 4 }))).not.toMatch(/MTU/);
    expect(words(judgeLinkFailure({ ...failure, stage: 'occupied', bytes: 0 }))).toMatch(
      /^warning: not measured: timed out → run the doctor again/,
    );
  });
});

test('findings are printed in columns, with their fixes and a summary', () => {
  const findings = [
    { check: 'node', level: 'ok', found: 'v20' },
    { check: 'shared memory', level: 'warning', found: 'none', fix: 'get\nsome' },
    { check: 'port', level: 'problem', found: 'held', fix: 'end it' },
  ] as const;
  expect(findings.map(formatFinding).join('') + formatSummary(findings)).toBe(
    [
      'ok       node           v20',
      'warning  shared memory  none',
      '                        fix: get',
      '                        some',
      'problem  port           held',
      '                        fix: end it',
      '1 problem, 1 warning',
      '',
    ].join('\n'),
  );
  expect(formatSummary([findings[0]])).toBe('All checks passed.\n');
  expect([exitCodeFor(findings), exitCodeFor(findings.slice(0, 2))]).toEqual([1, 0]);
});
