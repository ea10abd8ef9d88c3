import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repository } from '../support/environment.ts';
import { files, folder, parseManifests, podsOf, read } from './manifests.ts';
import type { Container } from './manifests.ts';
import { problemsOf, schemasProblem } from './schemas.ts';
import type { Manifest } from './schemas.ts';

const all = files.flatMap((file) => read(file).map((manifest) => ({ file, manifest })));
const { version } = JSON.parse(readFileSync(join(repository, 'packages/runtime/package.json'), 'utf8')) as {
  version: string;
};

/** An optional field for operators, in a comment on its own line. */
const optionalLine =
  /^(?<indent> +)# (?<field>(?:serviceAccountName|imagePullSecrets|nodeSelector|tolerations): .*)$/gm;
const optionalLines = (file: string) => [...readFileSync(join(folder, file), 'utf8').matchAll(optionalLine)];

/** A manifest with one value replaced; `undefined` removes it. */
function changed(manifest: Manifest, path: string, value: unknown): Manifest {
  // Not structuredClone, which keeps objects shared by YAML aliases.
  const copy = JSON.parse(JSON.stringify(manifest)) as Manifest;
  const steps = path.split('.');
  const last = steps.pop()!;
  const at = steps.reduce<Record<string, unknown>>(
    (part, step) => part[step] as Record<string, unknown>,
    copy as never,
  );
  if (value === undefined) Reflect.deleteProperty(at, last);
  else at[last] = value;
  return copy;
}

describe.skipIf(schemasProblem)(
  `by the operators' schemas${schemasProblem ? `: skipped, ${schemasProblem}` : ''}`,
  () => {
    // No CRD contains a Service or a ServiceAccount.
    test.each(all.filter(({ manifest }) => !['Service', 'ServiceAccount'].includes(manifest.kind)))(
      '$file: $manifest.kind $manifest.metadata.name',
      ({ manifest }) => {
        expect(problemsOf(manifest)).toEqual([]);
      },
    );

    test.each(files.filter((file) => optionalLines(file).length > 0))(
      '%s: the fields in comments are valid, too',
      (file) => {
        const text = readFileSync(join(folder, file), 'utf8').replaceAll(optionalLine, '$<indent>$<field>');
        const manifests = parseManifests(text, file);
        for (const manifest of manifests) expect(problemsOf(manifest)).toEqual([]);
        const specs = manifests.flatMap(podsOf).map(({ spec }) => spec);
        for (const spec of specs) {
          expect(spec).toMatchObject({
            serviceAccountName: 'ringrun',
            imagePullSecrets: [{ name: 'registry' }],
            nodeSelector: expect.any(Object) as unknown,
            tolerations: [
              { operator: 'Equal', effect: 'NoSchedule' },
              ...(file.includes('nccl') ? [{}] : []),
            ],
          });
        }
      },
    );

    const worker = 'spec.pytorchReplicaSpecs.Worker';
    const runtime = 'spec.template.spec.replicatedJobs.0';

    test.each<[file: string, document: number, path: string, value: unknown, problem: RegExp]>([
      ['pytorchjob-gloo.yaml', 0, 'spec.nprocPerNode', 2, /^\/spec\/nprocPerNode: must be string$/],
      ['pytorchjob-gloo.yaml', 0, `${worker}.replica`, 2, /Worker: replica is not a field here$/],
      [
        'pytorchjob-gloo.yaml',
        0,
        'spec.pytorchReplicaSpecs',
        undefined,
        /^\/spec: must have required property 'pytorchReplicaSpecs'$/,
      ],
      [
        'pytorchjob-elastic.yaml',
        0,
        'spec.elasticPolicy.minReplicas',
        'one',
        /minReplicas: must be integer$/,
      ],
      [
        'pytorchjob-elastic.yaml',
        0,
        'spec.elasticPolicy.rdzvPort',
        2 ** 31,
        /rdzvPort: must match format "int32"$/,
      ],
      [
        'pytorchjob-nccl.yaml',
        0,
        `${worker}.template.spec.containers.0.volumeMount`,
        [],
        /containers\/0: volumeMount is not a field here$/,
      ],
      [
        'pytorchjob-nccl.yaml',
        0,
        `${worker}.template.spec.containers.0.resources.limits.cpu`,
        'some',
        /limits\/cpu: must match pattern/,
      ],
      [
        'trainjob-runtime.yaml',
        0,
        `${runtime}.name`,
        undefined,
        /replicatedJobs\/0: must have required property 'name'$/,
      ],
      [
        'trainjob-runtime.yaml',
        0,
        `${runtime}.template.spec.template.spec.containers.0.img`,
        'x',
        /img is not a field here$/,
      ],
      [
        'trainjob-runtime.yaml',
        0,
        'spec.mlPolicy.torch.numProcPerNode',
        2,
        /numProcPerNode is not a field here$/,
      ],
      ['trainjob.yaml', 0, 'spec.trainer.nodes', 2, /^\/spec\/trainer: nodes is not a field here$/],
      ['trainjob.yaml', 0, 'spec.runtimeRef.name', undefined, /must have required property 'name'$/],
      ['trainjob.yaml', 0, 'metadata.name', 'Mnist', /^\/metadata\/name: must match pattern/],
      ['trainjob.yaml', 0, 'status', {}, /^\/status: is not a field of a manifest$/],
      ['debug-pod.yaml', 0, 'spec.containers.0.name', undefined, /must have required property 'name'$/],
      ['debug-pod.yaml', 0, 'spec.containers', undefined, /must have required property 'containers'$/],
      ['doctors.yaml', 1, 'spec.completion', 2, /^\/spec: completion is not a field here$/],
      ['doctors.yaml', 1, 'spec.template.spec.restartPolicy', 0, /restartPolicy: must be string$/],
      ['network-policy.yaml', 0, 'spec.ingres', [], /^\/spec: ingres is not a field here$/],
      [
        'network-policy.yaml',
        1,
        'spec.podSelector.matchLabel',
        {},
        /podSelector: matchLabel is not a field here$/,
      ],
      ['network-policy.yaml', 0, 'spec.policyTypes.0', 'Ingres', /policyTypes\/0: must be equal to one of/],
      [
        'pytorchjob-gloo.yaml',
        0,
        `${worker}.template.spec.containers.0.env.0.valueFrom.secretKeyRef.key`,
        undefined,
        /secretKeyRef: must have required property 'key'$/,
      ],
      [
        'trainjob.yaml',
        0,
        'spec.trainer.env.0.valueFrom.secretRef',
        {},
        /valueFrom: secretRef is not a field here$/,
      ],
      ['volume.yaml', 0, 'spec.accessMode', 'ReadWriteMany', /^\/spec: accessMode is not a field here$/],
    ])('%s with another %s.%s is refused', (file, document, path, value, problem) => {
      const problems = problemsOf(changed(read(file)[document], path, value));
      expect(
        problems.filter((line) => problem.test(line)),
        problems.join('\n'),
      ).toHaveLength(1);
    });

    test('two containers of one name and another API version are refused', () => {
      const [pod] = read('debug-pod.yaml');
      const containers = pod.spec['containers'] as Container[];
      expect(problemsOf(changed(pod, 'spec.containers', [...containers, ...containers]))).toEqual([
        expect.stringMatching(/^\/spec\/containers: must pass "x-kubernetes-list-map-keys"/),
      ]);
      const [job] = read('trainjob.yaml');
      expect(() => problemsOf({ ...job, apiVersion: 'trainer.kubeflow.org/v2' })).toThrow(
        /TrainJob is of trainer.kubeflow.org\/v1alpha1/,
      );
    });
  },
);

describe('requirements of operators and clusters', () => {
  const pods = all.flatMap(({ file, manifest }) =>
    podsOf(manifest).map((pod) => ({ file, kind: manifest.kind, pod })),
  );

  test('finds the pods of every kind of manifest', () => {
    const count = Object.fromEntries(
      files.map((file) => [file, pods.filter((pod) => pod.file === file).length]),
    );
    expect(count).toEqual({
      'debug-pod.yaml': 1,
      'doctors.yaml': 1,
      'network-policy.yaml': 0,
      'pytorchjob-elastic.yaml': 1,
      'pytorchjob-gloo.yaml': 2,
      'pytorchjob-nccl.yaml': 2,
      'service-account.yaml': 0,
      'trainjob-runtime.yaml': 1,
      'trainjob.yaml': 0,
      'volume.yaml': 0,
    });
  });

  test.each(pods)('$file, $kind', ({ file, kind, pod }) => {
    const { metadata, spec } = pod;
    const [container, ...others] = spec.containers;
    expect(others).toEqual([]);
    expect(container.image).toBe(`${file.includes('nccl') ? 'ringrun-gpu' : 'ringrun'}:${version}`);
    expect(metadata.annotations).toEqual({ 'sidecar.istio.io/inject': 'false' });
    expect(spec.securityContext?.runAsNonRoot).toBe(true);
    if (kind === 'PyTorchJob') {
      expect(container.name).toBe('pytorch');
      expect(container.ports).toEqual([{ name: 'pytorchjob-port', containerPort: 23456 }]);
      // The operator adds an init container to the workers of a job with a Master. Its image runs as root.
      if (!file.includes('elastic')) expect(spec.securityContext?.runAsUser).toBe(1000);
    }
    if (kind === 'ClusterTrainingRuntime') expect(container.name).toBe('node');
    // The launcher kills remaining workers after 30 s and needs some time for it.
    if (kind !== 'Pod' && kind !== 'Job') expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(30);
  });

  test('each pod reads RINGRUN_SECRET from one Secret, which the comment of its file creates', () => {
    const envOf = new Map(
      pods.map(({ file, pod }) => [file, pod.spec.containers.flatMap(({ env }) => env ?? [])]),
    );
    const [{ spec }] = read('trainjob.yaml');
    envOf.set('trainjob.yaml', (spec as unknown as { trainer: Required<Container> }).trainer.env);
    envOf.delete('trainjob-runtime.yaml');
    expect([...envOf.keys()].sort()).toEqual(
      files.filter(
        (file) =>
          !['network-policy.yaml', 'service-account.yaml', 'trainjob-runtime.yaml', 'volume.yaml'].includes(
            file,
          ),
      ),
    );
    for (const [file, env] of envOf) {
      const isJob = /job/.test(file);
      const secretKeyRef = { name: 'ringrun-secret', key: 'secret', ...(isJob ? {} : { optional: true }) };
      expect(env, file).toEqual([{ name: 'RINGRUN_SECRET', valueFrom: { secretKeyRef } }]);
      const created = 'kubectl create secret generic ringrun-secret --from-literal=secret=';
      if (isJob) expect(readFileSync(join(repository, 'deploy/manifests', file), 'utf8')).toContain(created);
    }
  });

  test("the network policies admit only the pods of a job to that job's pods", () => {
    const policies = read('network-policy.yaml').map(({ spec }) => spec);
    const labels = ['training.kubeflow.org/job-name', 'jobset.sigs.k8s.io/jobset-name'];
    expect(policies).toEqual(
      labels.map((label) => {
        const podSelector = { matchLabels: { [label]: 'mnist' } };
        // Without `ports`: all of them.
        return { podSelector, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector }] }] };
      }),
    );
    for (const [file, document] of [
      ['pytorchjob-gloo.yaml', 0],
      ['trainjob.yaml', 0],
    ] as const)
      expect(read(file)[document].metadata.name).toBe('mnist');
  });

  test('replicas restart in place, and the elastic job has no master', () => {
    for (const file of files.filter((name) => name.startsWith('pytorchjob'))) {
      const [{ spec }] = read(file);
      const replicas = spec['pytorchReplicaSpecs'] as Record<
        string,
        { replicas: number; restartPolicy: string }
      >;
      expect(Object.keys(replicas)).toEqual(file.includes('elastic') ? ['Worker'] : ['Master', 'Worker']);
      for (const { restartPolicy } of Object.values(replicas)) expect(restartPolicy).toBe('OnFailure');
    }
    const [elastic] = read('pytorchjob-elastic.yaml');
    const { maxReplicas, rdzvPort, rdzvBackend } = elastic.spec['elasticPolicy'] as Record<string, unknown>;
    expect({ maxReplicas, rdzvPort, rdzvBackend }).toEqual({
      maxReplicas: 3,
      rdzvPort: 23456,
      rdzvBackend: 'c10d',
    });
  });

  test('jobs on GPUs tolerate the taints of GPU nodes, and run on x64 like their image', () => {
    for (const { pod } of pods.filter(({ file }) => file === 'pytorchjob-nccl.yaml')) {
      expect(pod.spec.tolerations).toEqual([
        { key: 'sku', operator: 'Equal', value: 'gpu', effect: 'NoSchedule' },
        { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' },
      ]);
      expect(pod.spec.nodeSelector).toEqual({ 'kubernetes.io/arch': 'amd64' });
    }
  });

  test('the service account has the name that the jobs mention', () => {
    const [account] = read('service-account.yaml');
    const mentioned = files
      .flatMap(optionalLines)
      .flatMap(({ groups }) => (groups!['field'].startsWith('serviceAccountName') ? [groups!['field']] : []));
    expect(new Set(mentioned)).toEqual(new Set([`serviceAccountName: ${account.metadata.name}`]));
    expect(mentioned).toHaveLength(4);
  });

  test('only NCCL jobs mount a /dev/shm', () => {
    for (const { file, pod } of pods) {
      const mounts = pod.spec.containers.flatMap(({ volumeMounts }) => volumeMounts ?? []);
      expect(
        mounts.some(({ mountPath }) => mountPath === '/dev/shm'),
        file,
      ).toBe(file.includes('nccl'));
    }
  });
});
