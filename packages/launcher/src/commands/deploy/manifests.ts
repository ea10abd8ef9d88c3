import type { NodeRange } from '../../options/launch-options.ts';
import type { Deployment } from './deployment.ts';
import {
  commandOf,
  environmentOf,
  indented,
  lines,
  metadataOf,
  podTemplate,
  quoted,
  resourcesOf,
} from './pod-template.ts';

/** The manifests of a job, which are applied together: the text of each file by its name. */
export function manifestsOf(deployment: Deployment): Record<string, string> {
  const { kind, volumeSize, roleArn } = deployment;
  return {
    'job.yaml': kind === 'PyTorchJob' ? pytorchJob(deployment) : trainJob(deployment),
    'network-policy.yaml': networkPolicy(deployment),
    ...(volumeSize !== undefined && { 'volume.yaml': volumeClaim(deployment, volumeSize) }),
    ...(roleArn !== undefined && { 'service-account.yaml': serviceAccount(deployment, roleArn) }),
  };
}

/** The first lines of a file. A comment ends with its line, so the script's name is quoted. */
function heading({ name, nodes, script, secret }: Deployment, what: string): string {
  return lines(
    `# ${what} ${name}: trains ${quoted(script)} on ${nodesInWords(nodes)}. Create the secret first, once per namespace:`,
    '#',
    `#   kubectl create secret generic ${secret} --from-literal=secret="$(openssl rand -base64 32)"`,
  );
}

function nodesInWords({ min, max }: NodeRange): string {
  if (min < max) return `${min} to ${max} nodes`;
  return max === 1 ? '1 node' : `${max} nodes`;
}

function pytorchJob(deployment: Deployment): string {
  const { nodes, processesPerNode } = deployment;
  const container = lines(
    "# The operator requires this name and the port's.",
    '- name: pytorch',
    indented(
      lines(
        `image: ${quoted(deployment.image)}`,
        commandOf(deployment),
        environmentOf(deployment),
        'ports: [{ name: pytorchjob-port, containerPort: 23456 }]',
        'resources:',
        indented(resourcesOf(deployment), 2),
      ),
      2,
    ),
  );
  return `${lines(
    heading(deployment, 'PyTorchJob'),
    'apiVersion: kubeflow.org/v1',
    'kind: PyTorchJob',
    metadataOf(deployment),
    'spec:',
    '  # Workers per node. auto: one per GPU, or per CPU of the limit.',
    `  nprocPerNode: ${quoted(String(processesPerNode))}`,
    elasticPolicy(deployment),
    '  runPolicy:',
    '    # At the end of the job, running pods are deleted; ended pods stay for their logs.',
    '    cleanPodPolicy: Running',
    '  pytorchReplicaSpecs:',
    ...(nodes.min < nodes.max ? elasticReplicas(deployment, container) : replicas(deployment, container)),
  )}\n`;
}

/** A master and workers of the same template, unless only the master has the volume. */
function replicas(deployment: Deployment, container: string): string[] {
  const { nodes, volume, volumeAccess } = deployment;
  const isOwn = volume !== undefined && volumeAccess === 'ReadWriteOnce';
  const workers = nodes.max - 1;
  const master = replica('Master', 1, [
    workers > 0 && !isOwn ? 'template: &node' : 'template:',
    indented(podTemplate(deployment, container), 2),
  ]);
  if (workers === 0) return [master];
  if (!isOwn) return [master, replica('Worker', workers, ['template: *node'])];
  const template = indented(podTemplate({ ...deployment, volume: undefined }, container), 2);
  const comment = '# Without the volume, which only one node can mount. Rank 0 writes the checkpoints.';
  return [master, replica('Worker', workers, [comment, 'template:', template])];
}

/** Workers only: any of them may have rank 0. The operator accepts up to `max`. */
function elasticReplicas(deployment: Deployment, container: string): string[] {
  const template = ['template:', indented(podTemplate(deployment, container), 2)];
  return [replica('Worker', deployment.nodes.max, template)];
}

function replica(type: 'Master' | 'Worker', count: number, template: readonly string[]): string {
  return lines(
    `    ${type}:`,
    `      replicas: ${count}`,
    ...(type === 'Master' ? ['      # A failed pod restarts in place.'] : []),
    '      restartPolicy: OnFailure',
    ...template.map((part) => indented(part, 6)),
  );
}

function elasticPolicy({ name, nodes }: Deployment): string | undefined {
  if (nodes.min === nodes.max) return undefined;
  return lines(
    `  # The operator sets PET_NNODES and PET_RDZV_ENDPOINT=${name}-worker-0:23456, the rendezvous of the nodes.`,
    '  elasticPolicy:',
    '    rdzvBackend: c10d',
    '    rdzvPort: 23456',
    `    minReplicas: ${nodes.min}`,
    `    maxReplicas: ${nodes.max}`,
    '    # Restarts of the whole job after failed workers. A node that joins or leaves uses none.',
    '    maxRestarts: 10',
  );
}

/** A separate runtime for the job, because a TrainJob's runtime describes its pods. */
function trainJob(deployment: Deployment): string {
  const { name, nodes, processesPerNode } = deployment;
  const container = lines(
    '# Trainer requires this name.',
    '- name: node',
    `  image: ${quoted(deployment.image)}`,
  );
  const runtime = lines(
    heading(deployment, 'TrainJob'),
    'apiVersion: trainer.kubeflow.org/v1alpha1',
    'kind: TrainingRuntime',
    metadataOf(deployment),
    'spec:',
    '  mlPolicy:',
    `    numNodes: ${nodes.max}`,
    '    # Sets PET_NNODES, PET_NODE_RANK, PET_MASTER_ADDR, …, which ringrun reads.',
    '    torch: {}',
    '  template:',
    '    spec:',
    '      replicatedJobs:',
    '        - name: node',
    '          template:',
    '            metadata:',
    '              labels: { trainer.kubeflow.org/trainjob-ancestor-step: trainer }',
    '            spec:',
    '              template:',
    indented(podTemplate(deployment, container), 16),
  );
  const job = lines(
    'apiVersion: trainer.kubeflow.org/v1alpha1',
    'kind: TrainJob',
    metadataOf(deployment),
    'spec:',
    '  runtimeRef:',
    '    kind: TrainingRuntime',
    `    name: ${quoted(name)}`,
    '  trainer:',
    `    image: ${quoted(deployment.image)}`,
    `    numNodes: ${nodes.max}`,
    ...(processesPerNode === 'auto' ? [] : [`    numProcPerNode: ${processesPerNode}`]),
    indented(commandOf(deployment), 4),
    indented(environmentOf(deployment), 4),
    '    resourcesPerNode:',
    indented(resourcesOf(deployment), 6),
  );
  return `${runtime}\n---\n${job}\n`;
}

/** Data connections are not encrypted by default, so only the job's own pods may connect. */
function networkPolicy(deployment: Deployment): string {
  const { kind, name } = deployment;
  const label = kind === 'PyTorchJob' ? 'training.kubeflow.org/job-name' : 'jobset.sigs.k8s.io/jobset-name';
  const pods = `{ matchLabels: { ${label}: ${quoted(name)} } }`;
  return `${lines(
    `# Only pods of the job ${name} can connect to its pods. Requires a network plugin that enforces policies.`,
    'apiVersion: networking.k8s.io/v1',
    'kind: NetworkPolicy',
    metadataOf(deployment),
    'spec:',
    `  podSelector: ${pods}`,
    '  policyTypes: [Ingress]',
    '  ingress:',
    '    # All ports, because ranks listen on ports that the system chooses.',
    `    - from: [{ podSelector: ${pods} }]`,
  )}\n`;
}

function volumeClaim(deployment: Deployment, size: string): string {
  const { volume, volumeAccess, storageClass } = deployment;
  const comment =
    volumeAccess === 'ReadWriteOnce'
      ? '# The disk of one node: only the master mounts it.'
      : '# Data sets and checkpoints. All nodes mount it, which needs a storage class such as NFS, CephFS, EFS or Azure Files.';
  return `${lines(
    comment,
    'apiVersion: v1',
    'kind: PersistentVolumeClaim',
    metadataOf(deployment, volume),
    'spec:',
    `  accessModes: [${volumeAccess}]`,
    ...(storageClass === undefined ? [] : [`  storageClassName: ${quoted(storageClass)}`]),
    '  resources:',
    `    requests: { storage: ${quoted(size)} }`,
  )}\n`;
}

function serviceAccount(deployment: Deployment, roleArn: string): string {
  return `${lines(
    '# Gives the pods a role of AWS, so that no pod holds keys (IAM roles for service accounts).',
    'apiVersion: v1',
    'kind: ServiceAccount',
    metadataOf(deployment, deployment.serviceAccount),
    '  annotations:',
    `    eks.amazonaws.com/role-arn: ${quoted(roleArn)}`,
    '# ringrun does not call the API server.',
    'automountServiceAccountToken: false',
  )}\n`;
}
