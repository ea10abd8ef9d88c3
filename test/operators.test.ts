import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import ts from 'typescript';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  elasticPytorchJob,
  oldPytorchJob,
  pytorchJob,
  trainJob,
} from '../packages/launcher/test/support/operator-environments.ts';
import type { Environment } from '../packages/launcher/test/support/operator-environments.ts';
import { node } from './support/command.ts';
import type { Command } from './support/command.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { repository } from './support/environment.ts';
import { isFull } from './support/extent.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import type { Host } from './support/hosts.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const problem = hostsProblem();

/** Delays as in a cluster, or shorter: first the master's name resolves, then its port opens. */
const [untilNameMs, untilPortMs] = isFull ? [20_000, 10_000] : [100, 1000];
const limitMs = untilNameMs + untilPortMs + 90_000;

/** Images per step of all ranks together, so that any number of ranks computes the same sums. */
const images = { train: 1800, test: 600 };
const globalBatchSize = 36;

const project = temporaryFolder();
const script = join(project, 'train.js');
const data = syntheticMnist(images);
const options = ['--data', data, '--global-batch-size', String(globalBatchSize), '--lr', '0.05'];

/** The example as in a user's image: compiled JavaScript and its packages. */
function buildExample(): void {
  const source = readFileSync(join(repository, 'packages/examples-mnist/train.ts'), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  writeFileSync(script, outputText);
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  const packages = join(project, 'node_modules');
  mkdirSync(join(packages, '@ringrun'), { recursive: true });
  symlinkSync(join(repository, 'packages/runtime'), join(packages, 'ringrun'));
  for (const name of ['nn', 'examples-common', 'examples-mnist']) {
    symlinkSync(join(repository, 'packages', name), join(packages, '@ringrun', name));
  }
}

const ringrun = [join(repository, 'packages/runtime/bin/ringrun.js'), script, ...options];
const alone = [script, ...options];

/** The final accuracy that rank 0 prints, and the number of ranks with equal parameters. */
function resultOf(stdout: string): { accuracy: number; ranks: number } {
  expect(stdout).toMatch(/^accuracy=\d\.\d{4}\t/m);
  expect(stdout).toMatch(/^parameters identical on \d+ ranks?: [0-9a-f]{64}$/m);
  return {
    accuracy: Number(/^accuracy=(\d\.\d{4})\t/m.exec(stdout)![1]),
    ranks: Number(/^parameters identical on (\d+) /m.exec(stdout)![1]),
  };
}

async function trainAlone() {
  const { code, stdout, stderr } = await node(alone).ended;
  expect(code, stderr).toBe(0);
  return resultOf(stdout);
}

interface Job {
  what: string;
  /** Arguments of node. */
  command: readonly string[];
  /** Names of the pods; the first is the master or hosts the rendezvous. */
  pods: readonly string[];
  environment: (rank: number) => Environment;
  ranks: number;
}

const three = ['job-master-0', 'job-worker-0', 'job-worker-1'];
const auto = availableParallelism();

const jobs: (Job & { onlyFull?: boolean })[] = [
  {
    what: 'a PyTorchJob, nprocPerNode 1, ringrun train.js',
    command: ringrun,
    pods: three,
    environment: (rank) => pytorchJob(rank, 3, 1),
    ranks: 3,
  },
  {
    what: 'a PyTorchJob, nprocPerNode 2, ringrun train.js',
    command: ringrun,
    pods: three,
    environment: (rank) => pytorchJob(rank, 3, 2),
    ranks: 6,
    onlyFull: true,
  },
  {
    what: 'a PyTorchJob, nprocPerNode auto, ringrun train.js',
    command: ringrun,
    pods: three,
    environment: (rank) => pytorchJob(rank, 3, 'auto'),
    ranks: 3 * auto,
    onlyFull: true,
  },
  {
    what: 'a PyTorchJob, nprocPerNode 1, node train.js',
    command: alone,
    pods: three,
    environment: (rank) => pytorchJob(rank, 3, 1),
    ranks: 3,
    onlyFull: true,
  },
  {
    what: 'a PyTorchJob, nprocPerNode auto, node train.js',
    command: alone,
    pods: three,
    environment: (rank) => pytorchJob(rank, 3, 'auto'),
    ranks: 3,
    onlyFull: true,
  },
  {
    what: 'a PyTorchJob of old, ringrun train.js',
    command: ringrun,
    pods: three,
    environment: (rank) => oldPytorchJob(rank, 3),
    ranks: 3,
    onlyFull: true,
  },
  {
    what: 'an elastic PyTorchJob, ringrun train.js',
    command: ringrun,
    pods: ['job-worker-0', 'job-worker-1', 'job-worker-2'],
    environment: () => elasticPytorchJob('1:3'),
    ranks: 3 * auto,
  },
  {
    what: 'a TrainJob, ringrun train.js',
    command: ringrun,
    pods: ['job-node-0-0.job', 'job-node-0-1.job', 'job-node-0-2.job'],
    environment: (rank) => trainJob(rank, 3, '1'),
    ranks: 3,
    onlyFull: true,
  },
];

describe.skipIf(problem)(`pods as network namespaces${problem ? `: skipped, ${problem}` : ''}`, () => {
  let expected: number | undefined;

  beforeAll(buildExample);

  test.for(jobs.filter(({ onlyFull }) => isFull || !onlyFull))(
    "$what: workers wait for the master's name and port, and all reach one accuracy",
    { timeout: 2 * limitMs },
    async ({ command, pods, environment, ranks }) => {
      expected ??= (await trainAlone()).accuracy;
      using network = connectHosts(pods.length, { names: pods });
      const start = (host: Host, rank: number) =>
        // Every pod sees all processors of the machine, and its processes would use as many threads.
        host.node(command, {
          env: { ...environment(rank), OMP_NUM_THREADS: 1, KUBERNETES_SERVICE_HOST: '10.96.0.1' },
          limitMs,
        });
      const [master, ...workers] = network.hosts;
      const started: Command[] = workers.map((host, i) => start(host, i + 1));
      // Each prints a line about its wait; the wait lasts at least until then.
      await Promise.all(
        started.map((worker) => worker.sees(new RegExp(`waiting for .*${pods[0]} does not resolve`))),
      );
      await delay(untilNameMs);
      for (const host of network.hosts) host.learnNames(network.hosts.filter((other) => other !== host));
      await delay(untilPortMs);
      started.unshift(start(master, 0));

      const ends = await Promise.all(started.map(({ ended }) => ended));
      for (const { stdout, stderr, ...ended } of ends) {
        expect(ended, `${stdout}\n${stderr}`).toEqual({ code: 0, signal: null, timedOut: false, left: [] });
      }
      // Rank 0 prints; in an elastic job, nodes receive their ranks at the rendezvous.
      const printed = ends.map(({ stdout }) => stdout).filter((stdout) => stdout.includes('accuracy='));
      expect(printed).toHaveLength(1);
      const result = resultOf(printed[0]);
      expect(result.ranks).toBe(ranks);
      // Differences are due to rounding, and to the image at the border of the last step.
      expect(Math.abs(result.accuracy - expected)).toBeLessThan(0.01);
      expect(expected).toBeGreaterThan(0.5);
    },
  );
});
