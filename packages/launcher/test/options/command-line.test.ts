import { describe, expect, test } from 'vitest';
import type { LaunchOptions } from '../../src/options/launch-options.ts';
import { parseCommandLine } from '../../src/options/command-line.ts';
import { parsed, refusal } from './parsed.ts';

const both = { stdout: true, stderr: true };
const stdout = { stdout: true, stderr: false };
const stderr = { stdout: false, stderr: true };
const none = { stdout: false, stderr: false };

test("uses torchrun's defaults without options", () => {
  expect(parsed('')).toEqual({
    options: {
      program: { kind: 'script', name: 'train.js', arguments: [] },
      nodes: { min: 1, max: 1 },
      processesPerNode: 1,
      rendezvous: {
        backend: 'static',
        endpoint: undefined,
        config: {
          joinTimeoutMs: 600_000,
          lastCallMs: 30_000,
          closeTimeoutMs: 30_000,
          keepAliveIntervalMs: 5000,
          keepAliveMaxAttempts: 3,
          readTimeoutMs: 60_000,
          isHost: undefined,
        },
      },
      runId: undefined,
      encrypt: false,
      standalone: false,
      nodeRank: 0,
      masterAddress: undefined,
      masterPort: undefined,
      localAddress: undefined,
      maxRestarts: 0,
      monitorIntervalMs: 100,
      role: 'default',
      logs: { directory: undefined, redirects: none, tee: none, filter: undefined },
      signalsToHandle: ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'],
      gracePeriodMs: 30_000,
      numaBinding: undefined,
    },
    warnings: [],
  });
});

const host = { host: 'host0', port: undefined };

/** Options as a flag, the variable that sets the same, a value, and the parsed result. */
const options: [flag: string, variable: string, value: string, means: Partial<LaunchOptions>][] = [
  ['--nproc', 'PET_NPROC_PER_NODE', '2', { processesPerNode: 2 }],
  ['--nproc-per-node', 'PET_NPROC_PER_NODE', '2', { processesPerNode: 2 }],
  ['--nproc-per-node', 'PET_N_PROC_PER_NODE', '2', { processesPerNode: 2 }],
  ['--nproc-per-node', 'PET_NPROC_PER_NODE', 'auto', { processesPerNode: 'auto' }],
  ['--nproc-per-node', 'PET_NPROC_PER_NODE', 'cpu', { processesPerNode: 'cpu' }],
  ['--nproc-per-node', 'PET_NPROC_PER_NODE', 'gpu', { processesPerNode: 'gpu' }],
  ['--nnodes', 'PET_NNODES', '3', { nodes: { min: 3, max: 3 } }],
  ['--master-addr', 'PET_MASTER_ADDR', 'host0', { masterAddress: 'host0' }],
  ['--master-addr', 'PET_MASTER_ADDR', '[fd00::1]', { masterAddress: 'fd00::1' }],
  ['--master-port', 'PET_MASTER_PORT', '1234', { masterPort: 1234 }],
  ['--local-addr', 'PET_LOCAL_ADDR', '10.0.0.1', { localAddress: '10.0.0.1' }],
  ['--rdzv-id', 'PET_RDZV_ID', 'job_7', { runId: 'job_7' }],
  ['--node-rank', 'PET_NODE_RANK', '1', { nodeRank: 1 }],
  ['--max-restarts', 'PET_MAX_RESTARTS', '3', { maxRestarts: 3 }],
  ['--monitor-interval', 'PET_MONITOR_INTERVAL', '0.25', { monitorIntervalMs: 250 }],
  ['--role', 'PET_ROLE', 'trainer', { role: 'trainer' }],
  ['--numa-binding', 'PET_NUMA_BINDING', 'core-complex', { numaBinding: 'core-complex' }],
  ['--grace-period', 'RINGRUN_GRACE', '7', { gracePeriodMs: 7000 }],
  ['--name', 'RINGRUN_JOB_NAME', 'MNIST-lr-0.1', { name: 'MNIST-lr-0.1' }],
  [
    '--signals-to-handle',
    'PET_SIGNALS_TO_HANDLE',
    'SIGUSR1,SIGTERM,usr2',
    { signalsToHandle: ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] },
  ],
];

describe.each(options)('%s or %s, %s', (flag, variable, value, means) => {
  // Some options are used only with several nodes.
  const several = flag === '--nnodes' ? '' : '--nnodes 2';

  test('is parsed as a flag in all forms', () => {
    const underscored = flag.replace(/(?<=\w)-/g, '_');
    for (const form of [
      `${flag} ${value}`,
      `${flag}=${value}`,
      `${underscored} ${value}`,
      `${underscored}=${value}`,
    ]) {
      expect(parsed(`${several} ${form}`).options).toMatchObject(means);
    }
  });

  test('is parsed as a variable', () => {
    expect(parsed(several, { [variable]: value }).options).toMatchObject(means);
    expect(parsed(several, { [variable]: ' ' })).toEqual(parsed(several));
  });
});

test.each([
  ['--nproc 2', { PET_NPROC_PER_NODE: '3' }, { processesPerNode: 2 }],
  ['--nproc-per-node 2', { PET_NPROC_PER_NODE: '3', PET_N_PROC_PER_NODE: '4' }, { processesPerNode: 2 }],
  ['', { PET_NPROC_PER_NODE: '3', PET_N_PROC_PER_NODE: '4' }, { processesPerNode: 3 }],
  ['--max-restarts 1', { PET_MAX_RESTARTS: '2' }, { maxRestarts: 1 }],
  ['--grace-period 1', { RINGRUN_GRACE: '2' }, { gracePeriodMs: 1000 }],
])('the command line takes precedence: %s with %j', (args, env, means) => {
  expect(parsed(args, env).options).toMatchObject(means);
});

test('passes arguments after the script to the script unchanged, even --help', () => {
  const args = ['--nproc', '3', '--batch_size=4', '--help', '--', '-x'];
  const { options } = parseCommandLine(['--master_port', '1234', 'a_b.ts', ...args], {});
  expect(options).toMatchObject({ processesPerNode: 1, masterPort: 1234 });
  expect(options.program).toEqual({ kind: 'script', name: 'a_b.ts', arguments: args });
});

test.each([
  ['-m', {}, 'module'],
  ['--module', {}, 'module'],
  ['', { PET_MODULE: '1' }, 'module'],
  ['--no-node', {}, 'program'],
  ['--no_node', {}, 'program'],
  ['--no-python', {}, 'program'],
  ['', { PET_NO_PYTHON: 'true' }, 'program'],
  ['', { PET_NO_PYTHON: '0', PET_MODULE: '0' }, 'script'],
])('%s with %j runs a %s', (args, env, kind) => {
  expect(parsed(args, env).options.program.kind).toBe(kind);
});

test.each([
  ['3', both],
  ['0', none],
  [
    '0:1,11:2',
    new Map([
      [0, stdout],
      [11, stderr],
    ]),
  ],
])('parses -r and -t %s', (text, means) => {
  expect(parsed(`-r ${text}`).options.logs).toMatchObject({ redirects: means, tee: none });
  expect(parsed('', { PET_REDIRECTS: text }).options.logs).toMatchObject({ redirects: means, tee: none });
  expect(parsed(`-t${text}`).options.logs).toMatchObject({ redirects: none, tee: means });
  expect(parsed('', { PET_TEE: text }).options.logs).toMatchObject({ redirects: none, tee: means });
});

test('parses --log-dir and --local-ranks-filter', () => {
  const logs = { directory: 'my_logs', filter: [0, 2] };
  expect(parsed('--log_dir my_logs --local_ranks_filter 0,2').options.logs).toMatchObject(logs);
  const env = { PET_LOG_DIR: 'my_logs', PET_LOCAL_RANKS_FILTER: '0,2' };
  expect(parsed('', env).options.logs).toMatchObject(logs);
});

test.each([
  ['host0', host],
  ['host0:1234', { host: 'host0', port: 1234 }],
  ['[fd00::1]:1234', { host: 'fd00::1', port: 1234 }],
  ['fd00::1', { host: 'fd00::1', port: undefined }],
])('parses --rdzv-endpoint %s', (text, endpoint) => {
  const env = { PET_RDZV_BACKEND: 'c10d', PET_NNODES: '1:3', PET_RDZV_ENDPOINT: text };
  const expected = {
    nodes: { min: 1, max: 3 },
    nodeRank: undefined,
    rendezvous: { backend: 'c10d', endpoint },
  };
  expect(parsed('', env).options).toMatchObject(expected);
  expect(parsed(`--nnodes=1:3 --rdzv-backend=c10d --rdzv-endpoint=${text}`).options).toMatchObject(expected);
});

test("parses --rdzv-conf with torch's keys, in seconds", () => {
  const conf =
    'join_timeout=1,last_call_timeout=0,close_timeout=3,keep_alive_interval=0.5,keep_alive_max_attempt=5,read_timeout=6,is_host=true,rank=1';
  const expected = {
    joinTimeoutMs: 1000,
    lastCallMs: 0,
    closeTimeoutMs: 3000,
    keepAliveIntervalMs: 500,
    keepAliveMaxAttempts: 5,
    readTimeoutMs: 6000,
    isHost: true,
  };
  expect(parsed(`--rdzv-conf ${conf}`).options.rendezvous.config).toEqual(expected);
  expect(parsed('', { PET_RDZV_CONF: conf }).options.rendezvous.config).toEqual(expected);
});

describe('refuses', () => {
  test.each<[args: string, says: string[]]>([
    ['--nprok 2', ['--nprok', 'Did you mean --nproc?']],
    ['--nodes 2', ["unknown option '--nodes'", 'Did you mean --nnodes?']],
    ['--rdzv-endpont host', ['Did you mean --rdzv-endpoint?']],
    ['--max_restart 1', ['Did you mean --max-restarts?']],
    ['--start-method spawn', ['an option of torchrun', 'Remove it']],
    ['--nproc 2 --nproc-per-node 3', ['--nproc 2 and --nproc-per-node 3']],
    ['--nnodes 0', ["'0'", 'a number of nodes of at least 1']],
    ['--nnodes 3:1', ["'3:1'", 'MIN:MAX']],
    ['--nnodes 1:2:3', ["'1:2:3'"]],
    ['--nnodes 1:3', ['--nnodes 1:3', 'add --rdzv-backend c10d']],
    ['--rdzv-backend etcd-v2', ["'etcd-v2'", 'Use c10d', '--rdzv-endpoint']],
    ['--rdzv-backend etcd', ['Use c10d']],
    ['--rdzv-backend c10', ['Expected static or c10d', 'Did you mean c10d?']],
    ['--rdzv-endpoint host:port', ["'host:port'", 'host:port, with a port from 1 to 65535']],
    ...['[::1', 'a:b:c', '-x', '[host0]', 'a..b', '1:2', '.'].flatMap((host): [string, string[]][] => [
      [`--master-addr=${host}`, ['--master-addr', `'${host}'`, 'the name or address of a host']],
      [`--local-addr=${host}`, ['--local-addr', 'the name or address of a host']],
    ]),
    ...['[::1', 'a:b:c', '-x', '[host0]:1', '[::1]:0', '::1:x'].map((host): [string, string[]] => [
      `--rdzv-endpoint=${host}`,
      ['--rdzv-endpoint', `'${host}'`, 'Expected host or host:port'],
    ]),
    ['--rdzv-conf join_timeot=3', ['join_timeot', 'Did you mean join_timeout?']],
    ['--rdzv-conf join_timeout', ['Expected key=value, got join_timeout']],
    ['--rdzv-conf join_timeout=soon', ['join_timeout is soon', 'seconds above 0']],
    ['--standalone --nnodes 2', ['--standalone and --nnodes=2 contradict', 'one node']],
    ['--node-rank 1', ['--node-rank: expected 0 in a job of one node, got 1', '--nnodes']],
    ['--nnodes 2 --node-rank 2', ['--node-rank: expected a rank from 0 to 1 in a job of 2 nodes, got 2']],
    ['--node-rank -1', ["'-1'"]],
    ['-m --no-node', ['--module and --no-node contradict']],
    ['-r 4', ["'4'", '3 (both)', '0:1,1:2']],
    ['-t 0:1,0:2', ["'0:1,0:2'"]],
    ['--local-ranks-filter 0:1', ["'0:1'", 'local ranks, such as 0,2']],
    ['--signals-to-handle SIGKILL', ['SIGKILL cannot be caught']],
    ['--signals-to-handle SIGUSER1', ['Unknown signal SIGUSER1', 'Did you mean SIGUSR1?']],
    ['--numa-binding nodes', ["'nodes'", 'node, socket, exclusive, core-complex']],
    ['--max-restarts x', ["'x'", 'of at least 0']],
    ['--monitor-interval 0', ['seconds above 0']],
    ['--master-port 0', ['from 1 to 65535']],
  ])('%s', (args, says) => {
    const said = refusal(args);
    for (const words of says) expect(said).toContain(words);
    expect(said.split('\n').length).toBeLessThan(5);
  });

  test.each<[variable: string, value: string, says: string[]]>([
    ['PET_NPROC_PER_NODE', 'two', ["The variable PET_NPROC_PER_NODE is 'two'", '--nproc-per-node']],
    ['PET_RDZV_BACKEND', 'etcd', ["The variable PET_RDZV_BACKEND is 'etcd'", 'Use c10d']],
    ['PET_STANDALONE', 'perhaps', ["The variable PET_STANDALONE is 'perhaps'", '1 or 0']],
    ['RINGRUN_GRACE', 'long', ["The variable RINGRUN_GRACE is 'long'"]],
    ['PET_NNODES', '1:3', ['--rdzv-backend c10d']],
  ])('%s=%s', (variable, value, says) => {
    for (const words of says) expect(refusal('', { [variable]: value })).toContain(words);
  });
});

test('warns about a misspelt PET_ variable, not about those of a service named pet', () => {
  const env = {
    PET_NPROCS_PER_NODE: '2',
    PET_SERVICE_HOST: '10.0.0.1',
    PET_PORT_80_TCP: 'tcp://10.0.0.1:80',
  };
  expect(parsed('', env).warnings).toEqual([
    'Unknown variable PET_NPROCS_PER_NODE. Did you mean PET_NPROC_PER_NODE?',
  ]);
});
