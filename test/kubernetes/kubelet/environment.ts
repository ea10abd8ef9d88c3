import type {
  ConfigMap,
  Container,
  EnvVar,
  ObjectFieldSelector,
  Pod,
  Secret,
} from 'kubernetes-types/core/v1.js';
import type { ApiClient } from './api-client.ts';
import { parseQuantity } from './quantity.ts';

/** A container cannot be created as its pod specifies. */
export class CreateContainerConfigError extends Error {}

/** Replaces `$(NAME)` as Kubernetes does: unknown names are kept, `$$` becomes `$`. */
export function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\$|\$\(([^)]+)\)/g, (match, name: string | undefined) =>
    name === undefined ? '$' : (values.get(name) ?? match),
  );
}

/** The value of a field that the downward API offers. */
export function fieldOf(pod: Pod, { fieldPath }: ObjectFieldSelector, podIP: string, hostIP: string): string {
  const { metadata, spec } = pod;
  const entry = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(fieldPath);
  if (entry !== null) return metadata?.[entry[1] as 'labels' | 'annotations']?.[entry[2]] ?? '';
  const fields: Record<string, string | undefined> = {
    'metadata.name': metadata?.name,
    'metadata.namespace': metadata?.namespace,
    'metadata.uid': metadata?.uid,
    'spec.nodeName': spec?.nodeName,
    'spec.serviceAccountName': spec?.serviceAccountName,
    'status.podIP': podIP,
    'status.hostIP': hostIP,
  };
  const value = fields[fieldPath];
  if (value === undefined) throw new CreateContainerConfigError(`unsupported field path ${fieldPath}`);
  return value;
}

/** Reads the objects to which the environment of containers refers. */
export class EnvironmentReader {
  readonly #api: ApiClient;
  readonly #pod: Pod;
  readonly #podIP: string;
  readonly #hostIP: string;

  constructor(api: ApiClient, pod: Pod, podIP: string, hostIP: string) {
    this.#api = api;
    this.#pod = pod;
    this.#podIP = podIP;
    this.#hostIP = hostIP;
  }

  /** The environment of a container, after that of its image. */
  async read(container: Container, initial: Readonly<Record<string, string>>): Promise<Map<string, string>> {
    const values = new Map(Object.entries(initial));
    for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
      const data = configMapRef
        ? await this.#configMap(configMapRef.name!, configMapRef.optional)
        : await this.#secret(secretRef!.name!, secretRef!.optional);
      for (const [name, value] of Object.entries(data)) values.set(prefix + name, value);
    }
    for (const variable of container.env ?? []) {
      const value = await this.#valueOf(variable, container, values);
      if (value !== undefined) values.set(variable.name, value);
    }
    return values;
  }

  async #valueOf(
    { value = '', valueFrom }: EnvVar,
    { resources }: Container,
    values: ReadonlyMap<string, string>,
  ): Promise<string | undefined> {
    if (valueFrom === undefined) return expand(value, values);
    const { fieldRef, secretKeyRef, configMapKeyRef, resourceFieldRef } = valueFrom;
    if (fieldRef) return fieldOf(this.#pod, fieldRef, this.#podIP, this.#hostIP);
    if (resourceFieldRef) {
      const [kind, name] = resourceFieldRef.resource.split('.') as ['limits' | 'requests', string];
      return String(Math.ceil(parseQuantity(resources?.[kind]?.[name] ?? '0')));
    }
    const { name, key, optional } = (secretKeyRef ?? configMapKeyRef)!;
    const data = secretKeyRef ? await this.#secret(name!, optional) : await this.#configMap(name!, optional);
    if (key in data) return data[key];
    if (optional) return undefined;
    throw new CreateContainerConfigError(
      `couldn't find key ${key} in ${secretKeyRef ? 'Secret' : 'ConfigMap'} ${name}`,
    );
  }

  async #secret(name: string, optional = false): Promise<Record<string, string>> {
    const secret = await this.#object<Secret>('secrets', name, optional);
    return Object.fromEntries(
      Object.entries(secret?.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString(),
      ]),
    );
  }

  async #configMap(name: string, optional = false): Promise<Record<string, string>> {
    return (await this.#object<ConfigMap>('configmaps', name, optional))?.data ?? {};
  }

  async #object<T>(kind: 'secrets' | 'configmaps', name: string, optional: boolean): Promise<T | undefined> {
    const object = await this.#api.find<T>(
      `/api/v1/namespaces/${this.#pod.metadata!.namespace}/${kind}/${name}`,
    );
    if (object !== undefined || optional) return object;
    // The real kubelet's wording.
    throw new CreateContainerConfigError(`${kind.slice(0, -1)} "${name}" not found`);
  }
}
