// What `ringrun deploy` writes besides the job of a fixed number of nodes: elastic jobs, volumes, roles and checks.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { awsPoliciesOf } from '../../packages/launcher/src/commands/deploy/aws-policies.ts';
import { checksOf } from '../../packages/launcher/src/commands/deploy/checks.ts';
import { runDeploy } from '../../packages/launcher/src/commands/deploy/main.ts';
import { manifestsOf } from '../../packages/launcher/src/commands/deploy/manifests.ts';
import { parseDeployment } from '../../packages/launcher/src/commands/deploy/options.ts';
import type { Deployment } from '../../packages/launcher/src/commands/deploy/deployment.ts';
import { parseDoctorOptions } from '../../packages/launcher/src/commands/doctor/options.ts';
import { parseCommandLine } from '../../packages/launcher/src/options/command-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { parseManifests, podsOf, read } from './manifests.ts';
import type { Container, PodTemplate } from './manifests.ts';
import { problemsOf, schemasProblem } from './schemas.ts';
import type { Manifest } from './schemas.ts';

function deploymentOf(...args: readonly string[]): Deployment {
  return parseDeployment(['--image', 'registry.example/train:1', ...args, 'train.ts'], '/home/me/digits');
}

function parsed(texts: Readonly<Record<string, string>>): Record<string, Manifest[]> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, parseManifests(text, name)]));
}

const manifestsFor = (...args: readonly string[]) => parsed(manifestsOf(deploymentOf(...args)));

interface Replica {
  replicas: number;
  restartPolicy: string;
  template: PodTemplate;
}

const replicasOf = ([{ spec }]: readonly Manifest[]) =>
  spec['pytorchReplicaSpecs'] as Record<string, Replica>;
const mountsOf = ({ spec }: PodTemplate) =>
  spec.containers[0].volumeMounts?.map(({ mountPath }) => mountPath) ?? [];

test
  .skipIf(schemasProblem)
  .each([
    [['--nodes', '1:3', '--volume', 'data', '--volume-size', '10Gi']],
    [['--nodes', '3', '--volume', 'data', '--volume-size', '1Ti', '--volume-access', 'ReadWriteOnce']],
    [
      [
        '--kind',
        'TrainJob',
        '--namespace',
        'team',
        '--volume',
        'on',
        '--volume-size',
        '1Gi',
        '--storage-class',
        'no',
      ],
    ],
    [['--gpus', '1', '--service-account', 'y', '--role-arn', 'arn:aws:iam::111122223333:role/y']],
    [['--image-pull-secret', 'registry', '--toleration', 'a=b', '--node-selector', 'a=b', '--secret', 'no']],
  ])(`%j: valid by the operators' schemas${schemasProblem ? `: skipped, ${schemasProblem}` : ''}`, (args) => {
  const deployment = deploymentOf(...args);
  const all = Object.values(parsed({ ...manifestsOf(deployment), ...checksOf(deployment) })).flat();
  // No CRD contains a Service or a ServiceAccount.
  for (const manifest of all.filter(({ kind }) => !['Service', 'ServiceAccount'].includes(kind)))
    expect(problemsOf(manifest)).toEqual([]);
  for (const { metadata } of all)
    expect(metadata).toMatchObject(args.includes('team') ? { namespace: 'team' } : {});
});

describe('elastic jobs', () => {
  test("have the policy and the replicas of the repository's example", () => {
    const { 'job.yaml': job } = manifestsFor('--nodes', '1:3', '--name', 'mnist-elastic');
    const [example] = read('pytorchjob-elastic.yaml');
    expect(job[0].spec['elasticPolicy']).toEqual(example.spec['elasticPolicy']);
    const [own, other] = [job, [example]].map(replicasOf);
    expect(Object.keys(own)).toEqual(['Worker']);
    expect([own['Worker'].replicas, own['Worker'].restartPolicy]).toEqual([
      other['Worker'].replicas,
      other['Worker'].restartPolicy,
    ]);
  });

  test("the operator's environment yields the job that it describes", () => {
    const { 'job.yaml': job } = manifestsFor('--nodes', '2:4');
    const { args } = replicasOf(job)['Worker'].template.spec.containers[0];
    const { options } = parseCommandLine(args!, {
      PET_RDZV_BACKEND: 'c10d',
      PET_RDZV_ENDPOINT: 'digits-worker-0:23456',
      PET_NNODES: '2:4',
      PET_NPROC_PER_NODE: 'auto',
    });
    expect(options).toMatchObject({
      nodes: { min: 2, max: 4 },
      rendezvous: { backend: 'c10d', endpoint: { host: 'digits-worker-0', port: 23456 } },
      program: { name: 'train.ts' },
    });
  });
});

describe('volumes', () => {
  const volume = ['--volume', 'data', '--volume-size', '10Gi'];

  test('a claim of ReadWriteMany is mounted by all nodes', () => {
    const { 'job.yaml': job, 'volume.yaml': claims } = manifestsFor('--nodes', '3', ...volume);
    expect(claims).toEqual([
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '10Gi' } } },
      },
    ]);
    for (const { template } of Object.values(replicasOf(job)))
      expect(mountsOf(template)).toEqual(['/volume']);
  });

  test('a claim of ReadWriteOnce is mounted by the master only', () => {
    const once = [...volume, '--volume-access', 'ReadWriteOnce', '--storage-class', 'disk'];
    const { 'job.yaml': job, 'volume.yaml': claims } = manifestsFor('--nodes', '3', ...once);
    expect(claims[0].spec).toEqual({
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'disk',
      resources: { requests: { storage: '10Gi' } },
    });
    const { Master: master, Worker: worker } = replicasOf(job);
    expect([mountsOf(master.template), mountsOf(worker.template)]).toEqual([['/volume'], []]);
    expect([master.replicas, worker.replicas]).toEqual([1, 2]);
    expect(JSON.stringify(worker.template)).not.toContain('persistentVolumeClaim');
    // All else is equal.
    expect(worker.template.spec.containers[0].args).toEqual(master.template.spec.containers[0].args);
  });

  test('one node mounts it, whatever its kind', () => {
    for (const kind of ['PyTorchJob', 'TrainJob']) {
      const { 'job.yaml': job } = manifestsFor('--kind', kind, ...volume, '--volume-access', 'ReadWriteOnce');
      expect(job.flatMap(podsOf).map(mountsOf)).toEqual([['/volume']]);
    }
  });

  test('without a size, the claim exists', () => {
    expect(Object.keys(manifestsFor('--volume', 'data'))).toEqual(['job.yaml', 'network-policy.yaml']);
  });
});

describe('roles of AWS', () => {
  const role = ['--service-account', 'trainer', '--role-arn', 'arn:aws:iam::111122223333:role/trainer'];

  test('the service account is that of the pods, with the annotation of EKS', () => {
    const { 'job.yaml': job, 'service-account.yaml': accounts } = manifestsFor('--nodes', '2', ...role);
    const [example] = read('service-account.yaml');
    expect(accounts).toEqual([
      {
        ...example,
        metadata: {
          name: 'trainer',
          annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::111122223333:role/trainer' },
        },
      },
    ]);
    for (const pod of job.flatMap(podsOf)) expect(pod.spec.serviceAccountName).toBe('trainer');
  });

  test('the policies admit the service account of the namespace, and the bucket', () => {
    const oidc = 'oidc.eks.us-east-1.amazonaws.com/id/EXAMPLE';
    const args = [
      ...role,
      '--oidc-provider',
      `https://${oidc}`,
      '--s3-bucket',
      'runs',
      '--namespace',
      'team',
    ];
    const policies = awsPoliciesOf(deploymentOf(...args));
    expect(JSON.parse(policies['trust-policy.json'])).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Principal: { Federated: `arn:aws:iam::111122223333:oidc-provider/${oidc}` },
          Action: 'sts:AssumeRoleWithWebIdentity',
          Condition: {
            StringEquals: {
              [`${oidc}:aud`]: 'sts.amazonaws.com',
              [`${oidc}:sub`]: 'system:serviceaccount:team:trainer',
            },
          },
        },
      ],
    });
    const { Statement: statements } = JSON.parse(policies['s3-policy.json']) as {
      Statement: { Action: string[]; Resource: string }[];
    };
    expect(statements.map(({ Action, Resource }) => [Resource, Action.includes('s3:PutObject')])).toEqual([
      ['arn:aws:s3:::runs', false],
      ['arn:aws:s3:::runs/*', true],
    ]);
    expect(awsPoliciesOf(deploymentOf(...role))).toEqual({});
  });
});

describe('checks', () => {
  const fieldsOf = ({ command, args, env, resources, volumeMounts }: Container) => [
    ...[command, args, env, resources, volumeMounts],
  ];

  test("the pod for debugging and the doctors do what the repository's do, in the user's image", () => {
    const own = parsed(checksOf(deploymentOf('--name', 'mnist', '--volume', 'ringrun')));
    for (const name of ['debug-pod.yaml', 'doctors.yaml']) {
      const [pod, example] = [own[name], read(name)].map((all) => all.flatMap(podsOf)[0]);
      expect(JSON.stringify(pod.spec).includes('claimName')).toBe(name === 'debug-pod.yaml');
      const [container, other] = [pod, example].map(({ spec }) => spec.containers[0]);
      expect(container.image).toBe('registry.example/train:1');
      const renamed = JSON.stringify(fieldsOf(container));
      expect(JSON.parse(renamed.replaceAll('mnist-doctor', 'ringrun-doctors'))).toEqual(
        JSON.parse(JSON.stringify(fieldsOf(other))),
      );
      expect(pod.spec.securityContext).toMatchObject({ ...example.spec.securityContext, runAsUser: 1000 });
    }
  });

  test('the doctors find each other by the pod names of an indexed job', () => {
    const { 'doctors.yaml': all } = parsed(checksOf(deploymentOf('--name', 'a'.repeat(54))));
    const [service, job] = all;
    const [{ spec }] = podsOf(job) as unknown as [{ spec: PodTemplate['spec'] & { subdomain: string } }];
    expect([spec.subdomain, service.spec['selector']]).toEqual([
      service.metadata.name,
      { 'job-name': job.metadata.name },
    ]);
    // Kubernetes limits the host name of a pod of an indexed job.
    expect(`${job.metadata.name}-0`.length).toBeLessThanOrEqual(63);
    const args = spec.containers[0].args!.map((one) => one.replace('$(JOB_COMPLETION_INDEX)', '1'));
    expect(args[0]).toBe('doctor');
    expect(parseDoctorOptions(args.slice(1), {})).toMatchObject({
      master: `${job.metadata.name}-0.${service.metadata.name}`,
      nodeRank: 1,
    });
  });

  test.each([
    [['--nodes', '3'], 'digits-master-0', 23456],
    [['--nodes', '1:3'], 'digits-worker-0', 23456],
    [['--kind', 'TrainJob', '--nodes', '2'], 'digits-node-0-0.digits', 29500],
  ])('%j: the pod for debugging names the master', (args, host, port) => {
    const text = checksOf(deploymentOf(...args))['debug-pod.yaml'];
    for (const command of [`nslookup ${host}`, `ping -c 3 ${host}`, `nc -zv ${host} ${port}`])
      expect(text).toContain(`kubectl exec digits-debug -- ${command}\n`);
  });
});

test.each<[args: string[], error: RegExp]>([
  [
    ['--kind', 'TrainJob', '--nodes', '1:3'],
    /a TrainJob has a fixed number of nodes, got 1:3\. Use --kind PyTorchJob\./,
  ],
  [['--volume-size', '1Gi'], /--volume-size: expected a claim as well, got none\. Name it with --volume\./],
  [['--storage-class', 'disk', '--volume', 'data'], /Add --volume-size, such as 10Gi\./],
  [
    ['--nodes', '1:3', '--volume', 'data', '--volume-access', 'ReadWriteOnce'],
    /ReadWriteOnce: expected a number of nodes, got 1:3, .* Use a claim of ReadWriteMany, or checkpoints in s3:\/\//,
  ],
  [
    ['--kind', 'TrainJob', '--nodes', '2', '--volume', 'data', '--volume-access', 'ReadWriteOnce'],
    /expected one node or a PyTorchJob, got a TrainJob/,
  ],
  [['--role-arn', 'arn:aws:iam::111122223333:role/a'], /Add --service-account trainer\./],
  [['--oidc-provider', 'a.b/c', '--service-account', 'a'], /Add --role-arn\./],
])('%j is rejected with the fix', (args, error) => {
  const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(() => deploymentOf(...args)).toThrow(error);
  } finally {
    printed.mockRestore();
  }
});

test('writes every file to its folder, of which one command applies those of the job', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'train.ts'), '');
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  let lines: string[];
  try {
    const arn = 'arn:aws:iam::111122223333:role/path/trainer';
    const options = [
      ...['--image', 'train:1', '--name', 'digits', '--namespace', 'team', '--nodes', '1:3', '--gpus', '1'],
      ...['--volume', 'data', '--volume-size', '1Gi', '--s3-bucket', 'runs'],
      ...['--service-account', 'trainer', '--role-arn', arn, '--oidc-provider', 'a.b/id/C'],
    ];
    expect(runDeploy([...options, 'train.ts'], folder)).toBe(0);
    lines = printed.mock.calls
      .map(([text]) => String(text))
      .join('')
      .split('\n');
  } finally {
    printed.mockRestore();
  }
  const names = (at: string) => readdirSync(join(folder, 'k8s', at)).sort();
  expect(names('.')).toEqual([
    ...['aws', 'checks', 'job.yaml', 'network-policy.yaml', 'service-account.yaml', 'volume.yaml'],
  ]);
  expect(names('checks')).toEqual(['debug-pod.yaml', 'doctors.yaml']);
  expect(names('aws')).toEqual(['s3-policy.json', 'trust-policy.json']);
  expect(lines).toEqual(
    expect.arrayContaining([
      'wrote k8s/aws/trust-policy.json',
      '  aws iam create-role --role-name trainer --assume-role-policy-document file://k8s/aws/trust-policy.json',
      '  aws iam put-role-policy --role-name trainer --policy-name s3 --policy-document file://k8s/aws/s3-policy.json',
      '  kubectl -n team apply -f k8s',
      '  kubectl -n team logs -f digits-worker-0',
      '  kubectl -n team scale pytorchjob/digits --replicas 1   # from 1 to 3 nodes',
      'If it does not train: kubectl -n team apply -f k8s/checks, and see the comments of its files.',
      "The pods have GPUs. Models compute on them if the script calls initProcessGroup({ backend: 'nccl' }) or",
    ]),
  );
});
