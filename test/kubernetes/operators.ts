import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Cluster } from './cluster.ts';
import { emptyImage } from './kubelet/images.ts';
import type { Image } from './kubelet/images.ts';
import type { Parts, Program } from './parts.ts';

/** The user of distroless images. */
const nonRoot = 65532;

/** The images that the operators' manifests name. */
export function operatorImages(parts: Parts): Image[] {
  const manager = (name: string, program: Program): Image => ({
    ...emptyImage,
    name,
    entrypoint: ['/manager'],
    user: nonRoot,
    binds: { '/manager': parts.path(program) },
  });
  return [
    manager('training-operator', 'training-operator'),
    manager('trainer-controller-manager', 'trainer-controller-manager'),
    manager('jobset', 'jobset-controller-manager'),
    // The init container with which the training-operator lets workers wait for the master's name.
    {
      ...emptyImage,
      name: 'alpine',
      scripts: { '/usr/bin/nslookup': '#!/bin/sh\nexec getent hosts "$1"\n' },
    },
  ];
}

/** Installs the training-operator with its own manifests and waits for its webhook. */
export async function installTrainingOperator(cluster: Cluster, parts: Parts): Promise<void> {
  const manifests = join(cluster.folder, 'training-operator');
  cpSync(join(parts.sources.trainingOperator, 'manifests'), manifests, { recursive: true });
  await apply(cluster, join(manifests, 'overlays/standalone'));
  await isAvailable(cluster, 'kubeflow', 'training-operator');
}

/** Installs JobSet and Trainer with their own manifests, with the feature of progress reports. */
export async function installTrainer(cluster: Cluster, parts: Parts): Promise<void> {
  const jobset = join(cluster.folder, 'jobset');
  cpSync(join(parts.sources.jobset, 'config'), jobset, { recursive: true });
  await apply(cluster, join(jobset, 'default'));

  const trainer = join(cluster.folder, 'trainer');
  cpSync(join(parts.sources.trainer, 'manifests'), trainer, { recursive: true });
  // Its own overlay downloads JobSet's manifests.
  const overlay = join(trainer, 'overlays/manager');
  const namespace = 'kubeflow-system';
  const kustomization = {
    namespace,
    resources: [
      'namespace.yaml',
      ...['crds', 'manager', 'rbac', 'webhook'].map((name) => `../../base/${name}`),
    ],
    secretGenerator: [
      { name: 'kubeflow-trainer-webhook-cert', namespace, options: { disableNameSuffixHash: true } },
    ],
    patches: [
      {
        target: { kind: 'Deployment', name: 'kubeflow-trainer-controller-manager' },
        patch: stringify([
          {
            op: 'add',
            path: '/spec/template/spec/containers/0/args/-',
            value: '--feature-gates=TrainJobStatus=true',
          },
        ]),
      },
    ],
  };
  writeFileSync(join(overlay, 'kustomization.yaml'), stringify(kustomization));
  await isAvailable(cluster, 'jobset-system', 'jobset-controller-manager');
  await apply(cluster, overlay);
  await isAvailable(cluster, namespace, 'kubeflow-trainer-controller-manager');
}

/** On the server's side, because these CRDs are too long for the annotation that kubectl would add. */
async function apply(cluster: Cluster, folder: string): Promise<void> {
  await cluster.kubectl(['apply', '--server-side', '--kustomize', folder]);
}

async function isAvailable(cluster: Cluster, namespace: string, name: string): Promise<void> {
  const limit = ['--timeout', '180s'];
  await cluster.kubectl(
    ['wait', '--namespace', namespace, '--for', 'condition=Available', ...limit, `deployment/${name}`],
    { timeoutMs: 200_000 },
  );
}
