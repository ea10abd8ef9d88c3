import type { Deployment } from './deployment.ts';
import {
  environmentOf,
  indented,
  lines,
  metadataOf,
  placementOf,
  quoted,
  unprivileged,
  withoutSidecar,
} from './pod-template.ts';

/* Manifests that find out why a job does not run. They are in a folder of their own, which `kubectl apply` of the job leaves out. */

/** A pod for debugging and two doctors: the text of each file by its name. */
export function checksOf(deployment: Deployment): Record<string, string> {
  return { 'debug-pod.yaml': debugPod(deployment), 'doctors.yaml': doctors(deployment) };
}

/** `kubectl` with the namespace of the job. */
export function kubectlOf({ namespace }: Deployment): string {
  return namespace === undefined ? 'kubectl' : `kubectl -n ${namespace}`;
}

/** The host name and port of the master. */
export function masterOf({ kind, name, nodes }: Deployment): { host: string; port: number } {
  if (kind === 'TrainJob') return { host: `${name}-node-0-0.${name}`, port: 29500 };
  return { host: `${name}-${nodes.min < nodes.max ? 'worker' : 'master'}-0`, port: 23456 };
}

/** Not the variables of the user: a doctor needs the secret of the job only, and may run before it exists. */
function secretOf({ secret }: Deployment): string {
  return environmentOf({ env: {}, secret }, { isOptional: true });
}

const resources = lines(
  'resources:',
  "  requests: { cpu: '1', memory: 1Gi }",
  "  limits: { cpu: '1', memory: 1Gi }",
);

function debugPod(deployment: Deployment): string {
  const kubectl = kubectlOf(deployment);
  const pod = `${deployment.name}-debug`;
  const { host, port } = masterOf(deployment);
  const { volume } = deployment;
  return `${lines(
    '# A pod for debugging in the network of the job:',
    '#',
    `#   ${kubectl} exec -it ${pod} -- sh`,
    `#   ${kubectl} exec ${pod} -- nslookup ${host}`,
    `#   ${kubectl} exec ${pod} -- ping -c 3 ${host}`,
    `#   ${kubectl} exec ${pod} -- nc -zv ${host} ${port}`,
    `#   ${kubectl} exec ${pod} -- ringrun doctor --master-addr ${host} --master-port ${port} --node-rank 1`,
    '#',
    '# The network policy of the job admits only its own pods, so a port may be closed for this pod.',
    ...(volume === undefined
      ? []
      : [
          '# Data goes to the volume, and results come from it, with',
          '#',
          `#   ${kubectl} cp data ${pod}:/volume/data`,
          `#   ${kubectl} cp ${pod}:/volume/checkpoints checkpoints`,
          '#',
          '# Delete the pod before the job starts if the claim is of ReadWriteOnce.',
        ]),
    'apiVersion: v1',
    'kind: Pod',
    metadataOf(deployment, pod),
    indented(withoutSidecar, 2),
    'spec:',
    '  restartPolicy: Never',
    '  # sleep ignores SIGTERM.',
    '  terminationGracePeriodSeconds: 0',
    '  securityContext:',
    '    runAsNonRoot: true',
    '    runAsUser: 1000',
    '    fsGroup: 1000',
    '    seccompProfile: { type: RuntimeDefault }',
    '    # Lets ping run without privileges.',
    "    sysctls: [{ name: net.ipv4.ping_group_range, value: '0 2147483647' }]",
    indentedOf(placementOf({ ...deployment, tolerations: [], nodeSelector: {} }), 2),
    '  containers:',
    '    - name: debug',
    `      image: ${quoted(deployment.image)}`,
    '      command: [sleep, infinity]',
    indented(
      lines(
        secretOf(deployment),
        resources,
        unprivileged,
        volume === undefined ? undefined : 'volumeMounts: [{ name: volume, mountPath: /volume }]',
      ),
      6,
    ),
    volume === undefined
      ? undefined
      : `  volumes: [{ name: volume, persistentVolumeClaim: { claimName: ${quoted(volume)} } }]`,
  )}\n`;
}

function doctors(deployment: Deployment): string {
  const kubectl = kubectlOf(deployment);
  const job = `${deployment.name}-doctor`;
  const service = lines(
    '# Two doctors on two nodes, which measure the link between them:',
    '#',
    `#   ${kubectl} logs -f -l job-name=${job} --prefix --tail -1`,
    'apiVersion: v1',
    'kind: Service',
    metadataOf(deployment, job),
    'spec:',
    `  # A DNS name for each pod from its start: ${job}-0.${job}.`,
    '  clusterIP: None',
    '  publishNotReadyAddresses: true',
    `  selector: { job-name: ${quoted(job)} }`,
  );
  const pod = lines(
    `subdomain: ${quoted(job)}`,
    'restartPolicy: Never',
    'securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: RuntimeDefault } }',
    placementOf(deployment),
    '# Requires two different nodes.',
    'affinity:',
    '  podAntiAffinity:',
    '    requiredDuringSchedulingIgnoredDuringExecution:',
    '      - topologyKey: kubernetes.io/hostname',
    `        labelSelector: { matchLabels: { job-name: ${quoted(job)} } }`,
    'containers:',
    '  - name: doctor',
    `    image: ${quoted(deployment.image)}`,
    '    # Time for one node to pull the image.',
    `    args: [doctor, --master-addr=${job}-0.${job}, '--node-rank=$(JOB_COMPLETION_INDEX)', --timeout=300]`,
    indented(lines(secretOf(deployment), resources, unprivileged), 4),
  );
  return `${lines(
    service,
    '---',
    'apiVersion: batch/v1',
    'kind: Job',
    metadataOf(deployment, job),
    'spec:',
    '  completionMode: Indexed',
    '  completions: 2',
    '  parallelism: 2',
    '  backoffLimit: 0',
    '  template:',
    '    metadata:',
    indented(withoutSidecar, 6),
    '    spec:',
    indented(pod, 6),
  )}\n`;
}

function indentedOf(text: string | undefined, spaces: number): string | undefined {
  return text === undefined ? undefined : indented(text, spaces);
}
