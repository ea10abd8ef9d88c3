import type { Deployment } from './deployment.ts';
import type { Toleration } from './values.ts';

/** YAML accepts JSON, so values of the user are quoted as in JSON: YAML reads an unquoted `no` as false. */
export const quoted = (value: string): string => JSON.stringify(value);

/** An object on one line: `{ cpu: "2", memory: "4Gi" }`. */
function flow(object: Readonly<Record<string, string>>): string {
  const fields = Object.entries(object).map(([key, value]) => `${quoted(key)}: ${quoted(value)}`);
  return `{ ${fields.join(', ')} }`;
}

/** The `securityContext` of a container. */
export const unprivileged =
  'securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }';

/** Joins lines and blocks of lines; `undefined` is left out. */
export function lines(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join('\n');
}

export function indented(text: string, spaces: number): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(spaces));
}

/** @param name Name of the object. Default: that of the job. */
export function metadataOf(deployment: Deployment, name = deployment.name): string {
  const { namespace } = deployment;
  return lines(
    'metadata:',
    `  name: ${quoted(name)}`,
    namespace === undefined ? undefined : `  namespace: ${quoted(namespace)}`,
  );
}

/** The container's command. Kubernetes replaces `$(NAME)` in arguments, unless its dollar is doubled. */
export function commandOf({ script, arguments: args }: Deployment): string {
  return lines(
    '# Arguments of ringrun, the entrypoint of the image.',
    'args:',
    ...[script, ...args].map((argument) => `  - ${quoted(argument.replaceAll('$(', '$$$$('))}`),
  );
}

/** @param options `isOptional`: the pod starts without the secret, too. Default: `false`. */
export function environmentOf(
  { env, secret }: Pick<Deployment, 'env' | 'secret'>,
  { isOptional = false } = {},
): string {
  const optional = isOptional ? ', optional: true' : '';
  return lines(
    '# Only processes with this secret can join the job.',
    'env:',
    '  - name: RINGRUN_SECRET',
    `    valueFrom: { secretKeyRef: { name: ${quoted(secret)}, key: secret${optional} } }`,
    ...Object.entries(env).map(
      ([name, value]) => `  - ${flow({ name, value: value.replaceAll('$(', '$$$$(') })}`,
    ),
  );
}

export function resourcesOf({ cpu, memory, gpus }: Deployment): string {
  const quantities = { cpu, memory };
  return lines(
    '# Shared memory counts towards the memory.',
    `requests: ${flow(quantities)}`,
    `limits: ${flow({ ...quantities, ...(gpus > 0 && { 'nvidia.com/gpu': String(gpus) }) })}`,
  );
}

/**
 * The template of a node's pod.
 *
 * @param container the lines of the container that the operator requires
 */
export function podTemplate(deployment: Deployment, container: string): string {
  const { gpus, volume } = deployment;
  const mounts = [
    ...(volume === undefined ? [] : ['  - { name: volume, mountPath: /volume }']),
    ...(gpus > 0 ? ['  - { name: shared-memory, mountPath: /dev/shm }'] : []),
  ];
  const volumes = [
    ...(volume === undefined
      ? []
      : [`  - { name: volume, persistentVolumeClaim: { claimName: ${quoted(volume)} } }`]),
    ...(gpus > 0
      ? [
          '  # NCCL passes data between the processes of a node through /dev/shm, which has 64 MB by default.',
          '  - { name: shared-memory, emptyDir: { medium: Memory, sizeLimit: 2Gi } }',
        ]
      : []),
  ];
  const spec = lines(
    '# Longer than the 30 s after which ringrun kills workers that do not end.',
    'terminationGracePeriodSeconds: 45',
    '# runAsUser also applies to the init container that the operator adds to the workers of a PyTorchJob: its image runs',
    '# as root, which runAsNonRoot refuses.',
    'securityContext:',
    '  { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: { type: RuntimeDefault } }',
    placementOf(deployment),
    'containers:',
    indented(
      lines(
        container,
        indented(lines(unprivileged, ...(mounts.length > 0 ? ['volumeMounts:', ...mounts] : [])), 2),
      ),
      2,
    ),
    ...(volumes.length > 0 ? ['volumes:', ...volumes] : []),
  );
  return lines(
    'metadata:',
    '  # An Istio sidecar accepts connections to closed ports, and encrypts the traffic between ranks.',
    indented(withoutSidecar, 2),
    'spec:',
    indented(spec, 2),
  );
}

/** Labels and annotations of a pod without a sidecar of Istio. */
export const withoutSidecar = lines(
  "labels: { sidecar.istio.io/inject: 'false' }",
  "annotations: { sidecar.istio.io/inject: 'false' }",
);

/** Node selection, tolerations and service account of the pods. Undefined if no option sets any. */
export function placementOf(deployment: Deployment): string | undefined {
  const { serviceAccount, imagePullSecrets, nodeSelector, tolerations } = deployment;
  const parts = [
    ...(serviceAccount === undefined ? [] : [`serviceAccountName: ${quoted(serviceAccount)}`]),
    ...(imagePullSecrets.length === 0
      ? []
      : ['imagePullSecrets:', ...imagePullSecrets.map((name) => `  - ${flow({ name })}`)]),
    ...(Object.keys(nodeSelector).length === 0 ? [] : [`nodeSelector: ${flow(nodeSelector)}`]),
    ...(tolerations.length === 0
      ? []
      : ['tolerations:', ...tolerations.map((one) => `  - ${flow(tolerationOf(one))}`)]),
  ];
  return parts.length === 0 ? undefined : lines(...parts);
}

function tolerationOf({ key, value, effect }: Toleration): Record<string, string> {
  const match = value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value };
  return { key, ...match, ...(effect !== undefined && { effect }) };
}
