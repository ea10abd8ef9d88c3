import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EnvVar, Pod } from 'kubernetes-types/core/v1.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  elasticPytorchJob,
  pytorchJob,
  trainJob,
} from '../../packages/launcher/test/support/operator-environments.ts';
import type { Environment } from '../../packages/launcher/test/support/operator-environments.ts';
import type { Command } from '../support/command.ts';
import { repository } from '../support/environment.ts';
import { start } from '../support/start.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Cluster } from './cluster.ts';
import { installTrainer, installTrainingOperator, operatorImages } from './operators.ts';
import { buildParts, kubernetesProblem } from './parts.ts';
import { prepareNamespace } from './prepare-namespace.ts';
import { ringrunImage } from './ringrun-image.ts';

const problem =
  process.env['RINGRUN_KUBERNETES'] === '1' ? kubernetesProblem() : 'runs with `npm run test:kubernetes`';
const minute = 60_000;
const limitMs = 5 * minute;

const manifests = join(repository, 'deploy/manifests');
const manifest = (name: string): string => join(manifests, `${name}.yaml`);

/** The folder that is mounted at /volume. */
const volume = temporaryFolder();

describe.skipIf(problem)(`Kubernetes${problem ? `: skipped, ${problem}` : ''}`, () => {
  let cluster: Cluster;

  beforeAll(async () => {
    const parts = buildParts();
    cluster = await Cluster.start(parts, 3, [ringrunImage(), ...operatorImages(parts)]);
    await installTrainingOperator(cluster, parts);
    await installTrainer(cluster, parts);
    await prepareNamespace(cluster, volume, { train: 12_000, test: 1000 });
  }, 60 * minute);

  afterAll(async () => {
    await (cluster as Cluster | undefined)?.stop();
  }, minute);

  beforeEach(() => {
    rmSync(join(volume, 'checkpoints'), { recursive: true, force: true });
  });

  async function apply(...names: string[]): Promise<void> {
    await cluster.kubectl(['apply', ...names.map((name) => `--filename=${manifest(name)}`)]);
  }

  async function remove(...names: string[]): Promise<void> {
    await cluster.kubectl(['delete', ...names.map((name) => `--filename=${manifest(name)}`)], {
      timeoutMs: 2 * minute,
    });
  }

  /** Resolves when an object has a condition. */
  async function reaches(condition: string, object: string): Promise<void> {
    await cluster.kubectl(['wait', `--for=condition=${condition}`, `--timeout=${limitMs / 1000}s`, object], {
      timeoutMs: limitMs + minute,
    });
  }

  /** The log of a pod from now on, which outlives the pod. */
  function follow(pod: string): Command {
    return start(...cluster.kubectlCommand(['logs', '--follow', pod]), { limitMs });
  }

  async function follows(pod: string): Promise<Command> {
    await cluster.kubectl(['wait', '--for=create', `pod/${pod}`]);
    await cluster.kubectl(['wait', '--for=condition=Ready', '--timeout=60s', `pod/${pod}`], {
      timeoutMs: 2 * minute,
    });
    return follow(pod);
  }

  /** The job on MNIST succeeds, and the log of its master shows that it resumed. */
  async function succeedsFromCheckpoint(log: Command): Promise<void> {
    await reaches('Succeeded', 'pytorchjob/mnist');
    const { stdout } = await log.ended;
    expect(stdout).toMatch(/^resumed from \/volume\/checkpoints\/mnist/m);
    expect(stdout).toMatch(/^parameters identical on 6 ranks: /m);
  }

  async function pod(name: string): Promise<Pod> {
    return cluster.get<Pod>(`pod/${name}`);
  }

  test('the API server accepts every manifest', { timeout: minute }, async () => {
    await apply('trainjob-runtime');
    const names = readdirSync(manifests);
    expect(names.length).toBeGreaterThan(8);
    for (const name of names) {
      const output = await cluster.kubectl([
        'apply',
        '--dry-run=server',
        `--filename=${join(manifests, name)}`,
      ]);
      expect(output).toMatch(/(created|configured|unchanged) \(server dry run\)/);
    }
  });

  test('doctors on two nodes find no problem', { timeout: limitMs }, async () => {
    await apply('doctors');
    await reaches('Complete', 'job/ringrun-doctors');
    const { items } = await cluster.get<{ items: Pod[] }>('pods', '--selector', 'job-name=ringrun-doctors');
    expect(new Set(items.map(({ spec }) => spec!.nodeName)).size).toBe(2);
    const log = await cluster.kubectl(['logs', '--selector=job-name=ringrun-doctors', '--tail=-1']);
    expect(log.match(/^All checks passed\.$/gm)).toHaveLength(2);
    expect(log.match(/^ok +link +with ringrun-doctors-[01] over TCP/gm)).toHaveLength(2);
    // The container's limit, not the machine's processors.
    expect(log).toMatch(/^ok +threads +1 of \d+ CPUs \(cgroup quota 1\)/m);
    await remove('doctors');
  });

  test('a PyTorchJob of a master and two workers succeeds', { timeout: limitMs }, async () => {
    await apply('pytorchjob-gloo', 'debug-pod');
    const names = ['mnist-master-0', 'mnist-worker-0', 'mnist-worker-1'];
    const log = await follows(names[0]);
    for (const [rank, name] of names.entries()) {
      expect(environmentOf(await pod(name))).toEqual(ofJob('mnist', pytorchJob(rank, 3, 'auto')));
    }
    await reaches('Ready', 'pod/ringrun-debug');
    const doctor = ['doctor', '--master-addr=mnist-master-0', '--master-port=23456', '--node-rank=1'];
    const found = await cluster.kubectl(['exec', 'ringrun-debug', '--', 'ringrun', ...doctor]);
    expect(found).toMatch(/^ok +port +a ringrun store answers at mnist-master-0:23456/m);

    await reaches('Succeeded', 'pytorchjob/mnist');
    const { stdout } = await log.ended;
    expect(stdout).toMatch(/^parameters identical on 6 ranks: [0-9a-f]{64}$/m);
    expect(accuracyOf(stdout)).toBeGreaterThan(0.5);
    expect(await cluster.kubectl(['describe', 'pytorchjob/mnist'])).toMatch(/PyTorchJobSucceeded/);
    await remove('pytorchjob-gloo', 'debug-pod');
  });

  test(
    'a PyTorchJob whose worker is killed restarts in place and resumes',
    { timeout: limitMs },
    async () => {
      await apply('pytorchjob-gloo');
      await follows('mnist-master-0');
      await until(() => hasCheckpoint('mnist'));
      const kill = `kill -9 $(grep -lzx LOCAL_RANK=1 /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)`;
      await cluster.kubectl(['exec', 'mnist-worker-1', '--', 'sh', '-c', kill]);
      await until(async () => restartsOf(await pod('mnist-worker-1')) > 0);
      const description = await cluster.kubectl(['describe', 'pod/mnist-worker-1']);
      expect(description).toMatch(/Last State: +Terminated[^]*Message: +[^]*SIGKILL/);
      const previous = await cluster.kubectl(['logs', '--previous', 'mnist-worker-1']);
      expect(previous).toMatch(/killed by SIGKILL/);

      await until(async () => restartsOf(await pod('mnist-master-0')) > 0);
      const log = await follows('mnist-master-0');
      await succeedsFromCheckpoint(log);
      await remove('pytorchjob-gloo');
    },
  );

  test(
    'a PyTorchJob whose master pod is deleted continues in the new pod',
    { timeout: limitMs },
    async () => {
      await apply('pytorchjob-gloo');
      await follows('mnist-master-0');
      await until(() => hasCheckpoint('mnist'));
      const before = (await pod('mnist-master-0')).status!.podIP;
      await cluster.kubectl(['delete', 'pod/mnist-master-0'], { timeoutMs: 2 * minute });
      const log = await follows('mnist-master-0');
      expect((await pod('mnist-master-0')).status!.podIP).not.toBe(before);
      await succeedsFromCheckpoint(log);
      await remove('pytorchjob-gloo');
    },
  );

  test(
    'a container that exceeds its memory limit is OOMKilled, and reports it',
    { timeout: limitMs },
    async () => {
      const text = readFileSync(manifest('pytorchjob-gloo'), 'utf8');
      const input = text.replaceAll('memory: 2Gi', 'memory: 150Mi');
      expect(input).not.toBe(text);
      await cluster.kubectl(['apply', '--filename=-'], { input });
      const failed = () =>
        cluster
          .get<{ items: Pod[] }>('pods', '--selector=training.kubeflow.org/job-name=mnist')
          .then(({ items }) =>
            items.find(
              ({ status }) => status?.containerStatuses?.[0].lastState?.terminated?.reason === 'OOMKilled',
            ),
          );
      await until(async () => (await failed()) !== undefined);
      const { message } = (await failed())!.status!.containerStatuses![0].lastState!.terminated!;
      expect(message).toMatch(/root cause: .* killed by SIGKILL \(signal 9: out of memory/);
      await remove('pytorchjob-gloo');
    },
  );

  test(
    'the pods of jobs without a Master meet the restricted Pod Security Standard',
    { timeout: minute },
    async () => {
      await cluster.kubectl(['create', 'namespace', 'strict']);
      await cluster.kubectl(['label', 'namespace/strict', 'pod-security.kubernetes.io/enforce=restricted']);
      for (const name of ['debug-pod', 'doctors', 'pytorchjob-elastic', 'trainjob']) {
        await cluster.kubectl(['apply', '--namespace=strict', `--filename=${manifest(name)}`]);
      }
      // Pending, as this namespace has no volume.
      const expected = ['ringrun-debug', 'ringrun-doctors-1', 'mnist-elastic-worker-2', 'mnist-node-0-1'];
      await until(async () => {
        const { items } = await cluster.get<{ items: Pod[] }>('pods', '--namespace=strict');
        const names = items.map(({ metadata }) => metadata!.name!);
        return expected.every((each) => names.some((name) => name.startsWith(each)));
      });
      await cluster.kubectl(['delete', 'namespace/strict'], { timeoutMs: 2 * minute });
    },
  );

  test('an elastic PyTorchJob shrinks, grows and survives a deleted pod', { timeout: limitMs }, async () => {
    await apply('pytorchjob-elastic');
    const log = await follows('mnist-elastic-worker-0');
    expect(environmentOf(await pod('mnist-elastic-worker-2'))).toEqual(
      ofJob('mnist-elastic', elasticPytorchJob('1:3')),
    );
    await log.sees(/round 1 starts with 3 nodes/);
    await until(() => hasCheckpoint('mnist-elastic'));
    await cluster.kubectl(['scale', 'pytorchjob/mnist-elastic', '--replicas=2']);
    await log.sees(/round 2 starts with 2 nodes/);
    await cluster.kubectl(['scale', 'pytorchjob/mnist-elastic', '--replicas=3']);
    await log.sees(/round 3 starts with 3 nodes/);
    await cluster.kubectl(['delete', 'pod/mnist-elastic-worker-1'], { timeoutMs: 2 * minute });
    await log.sees(/round 4 starts with 3 nodes/);
    await reaches('Succeeded', 'pytorchjob/mnist-elastic');
    const { stdout } = await log.ended;
    expect(stdout).toMatch(/resumed from \/volume\/checkpoints\/mnist-elastic/);
    expect(stdout).toMatch(/^parameters identical on 6 ranks: /m);
    await remove('pytorchjob-elastic');
  });

  test('a TrainJob succeeds and its status reports the progress', { timeout: limitMs }, async () => {
    await apply('trainjob-runtime', 'trainjob');
    const selector = '--selector=jobset.sigs.k8s.io/jobset-name=mnist';
    await reaches('Complete', 'trainjob/mnist');
    const { items } = await cluster.get<{ items: Pod[] }>('pods', selector);
    for (const rank of [0, 1]) {
      const environments = items.map(environmentOf);
      const expected = ofJob('mnist', trainJob(rank, 2, '2'));
      expect(environments).toContainEqual(expect.objectContaining(expected));
    }
    const log = await cluster.kubectl(['logs', selector, '--tail=-1']);
    expect(log).toMatch(/^parameters identical on 4 ranks: [0-9a-f]{64}$/m);
    expect(accuracyOf(log)).toBeGreaterThan(0.5);
    const { status } = await cluster.get<{ status: TrainJobStatus }>('trainjob/mnist');
    expect(status.trainerStatus.progressPercentage).toBe(100);
    expect(status.trainerStatus.metrics).toContainEqual({ name: 'epoch', value: '3' });
    await remove('trainjob');
  });

  function hasCheckpoint(job: string): boolean {
    const folder = join(volume, 'checkpoints', job);
    return existsSync(folder) && readdirSync(folder).some((name) => name.startsWith('checkpoint-'));
  }
});

interface TrainJobStatus {
  trainerStatus: { progressPercentage: number; metrics: { name: string; value: string }[] };
}

/** Checks every 200 ms. The test's time limit ends it. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(200);
}

function restartsOf({ status }: Pod): number {
  return status!.containerStatuses![0].restartCount;
}

function accuracyOf(log: string): number {
  return Number(/^accuracy (\d\.\d+) on MNIST$/m.exec(log)?.[1]);
}

/** The simulated environment of a pod of the job named `job`, as that of another job. */
function ofJob(job: string, environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/^job-/, `${job}-`).replace(/\.job$/, `.${job}`),
    ]),
  );
}

/** The variables that the operator added to a pod's environment, including fields of the pod. */
function environmentOf({ metadata, spec }: Pod): Environment {
  const valueOf = ({ value, valueFrom }: EnvVar): string => {
    const key = /\['(.*)'\]$/.exec(valueFrom?.fieldRef?.fieldPath ?? '')?.[1];
    return key === undefined ? value! : metadata!.annotations![key];
  };
  return Object.fromEntries(
    spec!.containers[0]
      .env!.filter(({ name }) => name !== 'RINGRUN_SECRET')
      .map((each) => [each.name, valueOf(each)]),
  );
}
