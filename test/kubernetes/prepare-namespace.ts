import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/environment.ts';
import { writeSyntheticMnist } from '../support/write-synthetic-mnist.ts';
import type { ImageCounts } from '../support/write-synthetic-mnist.ts';
import type { Cluster } from './cluster.ts';

/** User id of ringrun's image. */
const user = 1000;

/**
 * Creates the prerequisites of the jobs in deploy/manifests: the secret, and the volume, with synthetic digits in the
 * folder to which the examples would download MNIST.
 *
 * @param folder Mounted as a file system that all nodes share.
 */
export async function prepareNamespace(cluster: Cluster, folder: string, images: ImageCounts): Promise<void> {
  const data = join(folder, 'cache/ringrun/mnist');
  mkdirSync(data, { recursive: true });
  writeSyntheticMnist(data, images);
  spawnSync('chown', ['-R', `${user}:${user}`, folder]);
  const persistentVolume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'ringrun' },
    spec: {
      capacity: { storage: '10Gi' },
      accessModes: ['ReadWriteMany'],
      hostPath: { path: folder },
    },
  };
  await cluster.kubectl(['apply', '--filename=-'], { input: JSON.stringify(persistentVolume) });
  await cluster.kubectl(['apply', `--filename=${join(repository, 'deploy/manifests/volume.yaml')}`]);
  const secret = '--from-literal=secret=0123456789abcdef';
  await cluster.kubectl(['create', 'secret', 'generic', 'ringrun-secret', secret]);
}
