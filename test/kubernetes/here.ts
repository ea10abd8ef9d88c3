// A shell in a cluster of this machine, with Kubeflow's operators and the prerequisites of the jobs in
// deploy/manifests:
//
//   npm run kubernetes
//   kubectl apply -f deploy/manifests/pytorchjob-gloo.yaml && kubectl get pods -w
//
// The cluster ends with the shell.
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster } from './cluster.ts';
import { installTrainer, installTrainingOperator, operatorImages } from './operators.ts';
import { buildParts, kubernetesProblem } from './parts.ts';
import { prepareNamespace } from './prepare-namespace.ts';
import { ringrunImage } from './ringrun-image.ts';

const problem = kubernetesProblem();
if (problem !== undefined) {
  console.error(`kubernetes: ${problem}.`);
  process.exit(1);
}
const parts = buildParts();
const cluster = await Cluster.start(parts, 3, [ringrunImage(), ...operatorImages(parts)]);
try {
  await installTrainingOperator(cluster, parts);
  await installTrainer(cluster, parts);
  const [volume, programs] = ['volume', 'bin'].map((name) => join(cluster.folder, name));
  for (const folder of [volume, programs]) mkdirSync(folder);
  await prepareNamespace(cluster, volume, { train: 12_000, test: 1000 });
  symlinkSync(parts.path('kubectl'), join(programs, 'kubectl'));
  const shell = process.env['SHELL'] ?? 'sh';
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    PATH: `${programs}:${process.env['PATH']}`,
  };
  console.error(`Logs and the jobs' volume are in ${cluster.folder}. \`exit\` ends the cluster.`);
  spawnSync('nsenter', [`--net=/run/netns/${cluster.name}`, shell], { env, stdio: 'inherit' });
} finally {
  await cluster.stop();
}
