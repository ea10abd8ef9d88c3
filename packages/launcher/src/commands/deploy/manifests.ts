import type { Deployment } from './options.ts';
import {
  commandOf,
  environmentOf,
  indented,
  lines,
  podTemplate,
  quoted,
  resourcesOf,
} from './pod-template.ts';

/** The manifests of a job: the text of each file by its name. */
export function manifestsOf(deployment: Deployment): Record<string, string> {
  const job = deployment.kind === 'PyTorchJob' ? pytorchJob(deployment) : trainJob(deployment);
  return { 'job.yaml': job, 'network-policy.yaml': networkPolicy(deployment) };
}

function metadataOf({ name, namespace }: Deployment): string {
  const parts = [
    `  name: ${quoted(name)}`,
    ...(namespace === undefined ? [] : [`  namespace: ${quoted(namespace)}`]),
  ];
  return lines('metadata:', ...parts);
}

/** The first lines of a file. A comment ends with its line, so the script's name is quoted. */
function heading({ name, nodes, script, secret }: Deployment, what: string): string {
  return lines(
    `# ${what} ${name}: trains ${quoted(script)} on ${nodes === 1 ? '1 node' : `${nodes} nodes`}. Create the secret first, once per namespace:`,
    '#',
    `#   kubectl create secret generic ${secret} --from-literal=secret="$(openssl rand -base64 32)"`,
  );
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
    '  runPolicy:',
    '    # At the end of the job, running pods are deleted; ended pods stay for their logs.',
    '    cleanPodPolicy: Running',
    '  pytorchReplicaSpecs:',
    '    Master:',
    '      replicas: 1',
    '      # A failed pod restarts in place.',
    '      restartPolicy: OnFailure',
    nodes > 1 ? '      template: &node' : '      template:',
    indented(podTemplate(deployment, container), 8),
    ...(nodes > 1
      ? [
          '    Worker:',
          `      replicas: ${nodes - 1}`,
          '      restartPolicy: OnFailure',
          '      template: *node',
        ]
      : []),
  )}\n`;
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
    `    numNodes: ${nodes}`,
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
    `    numNodes: ${nodes}`,
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
