import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type {
  ConfigMap,
  KeyToPath,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  ServiceAccountTokenProjection,
  Volume,
  VolumeProjection,
} from 'kubernetes-types/core/v1.js';
import type { ApiClient } from './api-client.ts';
import { fieldOf } from './environment.ts';
import { parseQuantity } from './quantity.ts';

/** Lifetime of a service account's token, in seconds, if the pod does not specify one. */
const tokenSeconds = 3600;

/** The volumes of a pod as folders of this machine. */
export class Volumes {
  readonly #api: ApiClient;
  readonly #pod: Pod;
  readonly #folder: string;
  readonly #addresses: { podIP: string; hostIP: string };
  readonly #tokens = new Map<string, { token: string; renewAt: number }>();
  readonly #mounted: string[] = [];

  /** @param folder An empty folder, in which all volumes of the pod are. */
  constructor(api: ApiClient, pod: Pod, folder: string, addresses: { podIP: string; hostIP: string }) {
    this.#api = api;
    this.#pod = pod;
    this.#folder = folder;
    this.#addresses = addresses;
  }

  /**
   * Creates all volumes and returns the folder of each.
   *
   * @throws Error if an object that a volume refers to does not exist (yet)
   */
  async prepare(): Promise<Map<string, string>> {
    const folders = new Map<string, string>();
    for (const volume of this.#pod.spec!.volumes ?? []) folders.set(volume.name, await this.#prepare(volume));
    return folders;
  }

  /** Writes the present contents of Secrets, ConfigMaps and tokens, as the kubelet does every minute. */
  async refresh(): Promise<void> {
    for (const volume of this.#pod.spec!.volumes ?? [])
      await this.#write(volume, join(this.#folder, volume.name));
  }

  remove(): void {
    for (const folder of this.#mounted) spawnSync('umount', ['--lazy', folder]);
  }

  async #prepare(volume: Volume): Promise<string> {
    const folder = join(this.#folder, volume.name);
    if (volume.hostPath) return volume.hostPath.path;
    if (volume.persistentVolumeClaim) return this.#claimed(volume.persistentVolumeClaim.claimName);
    mkdirSync(folder, { recursive: true });
    if (volume.emptyDir) this.#makeEmptyDir(volume, folder);
    else if (!(await this.#write(volume, folder))) {
      throw new Error(
        `volume ${volume.name}: this kubelet has no volumes of the kind ${Object.keys(volume).join()}`,
      );
    }
    return folder;
  }

  #makeEmptyDir({ emptyDir }: Volume, folder: string): void {
    if (emptyDir!.medium === 'Memory' && !this.#mounted.includes(folder)) {
      const size = emptyDir!.sizeLimit === undefined ? [] : [`size=${parseQuantity(emptyDir!.sizeLimit)}`];
      const options = ['mode=1777', ...size].join();
      const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
      if (status !== 0) throw new Error(`mount of ${folder}: ${String(stderr)}`);
      this.#mounted.push(folder);
    }
    chmodSync(folder, 0o777);
    const group = this.#pod.spec!.securityContext?.fsGroup;
    if (group !== undefined) chownSync(folder, 0, group);
  }

  async #claimed(name: string): Promise<string> {
    const namespace = this.#pod.metadata!.namespace!;
    const claim = await this.#api.get<PersistentVolumeClaim>(
      `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`,
    );
    if (claim.status?.phase !== 'Bound') throw new Error(`persistentvolumeclaim "${name}" is not bound`);
    const volume = await this.#api.get<PersistentVolume>(
      `/api/v1/persistentvolumes/${claim.spec!.volumeName}`,
    );
    if (!volume.spec?.hostPath)
      throw new Error(`persistentvolume ${claim.spec!.volumeName}: expected a hostPath`);
    return volume.spec.hostPath.path;
  }

  /** False if the volume is of another kind. */
  async #write({ secret, configMap, projected, downwardAPI }: Volume, folder: string): Promise<boolean> {
    const sources: VolumeProjection[] = projected?.sources ?? [];
    if (secret) sources.push({ secret: { ...secret, name: secret.secretName! } });
    if (configMap) sources.push({ configMap });
    if (downwardAPI) sources.push({ downwardAPI });
    for (const source of sources) {
      for (const [path, bytes] of Object.entries(await this.#read(source)))
        replaceFile(join(folder, path), bytes);
    }
    return Boolean(secret ?? configMap ?? projected ?? downwardAPI);
  }

  async #read({ secret, configMap, downwardAPI, serviceAccountToken }: VolumeProjection) {
    const files: Record<string, Buffer> = {};
    if (secret) {
      const { data } = await this.#object<Secret>('secrets', secret.name!, secret.optional);
      for (const [key, value] of Object.entries(data ?? {})) files[key] = Buffer.from(value, 'base64');
      return select(files, secret.items);
    }
    if (configMap) {
      const { data } = await this.#object<ConfigMap>('configmaps', configMap.name!, configMap.optional);
      for (const [key, value] of Object.entries(data ?? {})) files[key] = Buffer.from(value);
      return select(files, configMap.items);
    }
    for (const { path, fieldRef } of downwardAPI?.items ?? []) {
      files[path] = Buffer.from(fieldOf(this.#pod, fieldRef!, this.#addresses.podIP, this.#addresses.hostIP));
    }
    if (serviceAccountToken)
      files[serviceAccountToken.path] = Buffer.from(await this.#token(serviceAccountToken));
    return files;
  }

  async #object<T>(kind: string, name: string, optional = false): Promise<T> {
    const path = `/api/v1/namespaces/${this.#pod.metadata!.namespace}/${kind}/${name}`;
    return optional ? ((await this.#api.find<T>(path)) ?? ({} as T)) : this.#api.get<T>(path);
  }

  /** A token of the pod's service account, renewed after 80% of its lifetime. */
  async #token({
    audience,
    expirationSeconds = tokenSeconds,
    path,
  }: ServiceAccountTokenProjection): Promise<string> {
    const known = this.#tokens.get(path);
    if (known !== undefined && Date.now() < known.renewAt) return known.token;
    const { metadata, spec } = this.#pod;
    const { status } = await this.#api.post<{ status: { token: string } }>(
      `/api/v1/namespaces/${metadata!.namespace}/serviceaccounts/${spec!.serviceAccountName ?? 'default'}/token`,
      {
        spec: {
          ...(audience !== undefined && { audiences: [audience] }),
          expirationSeconds,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: metadata!.name, uid: metadata!.uid },
        },
      },
    );
    this.#tokens.set(path, { token: status.token, renewAt: Date.now() + 800 * expirationSeconds });
    return status.token;
  }
}

function select(
  files: Record<string, Buffer>,
  items: readonly KeyToPath[] | undefined,
): Record<string, Buffer> {
  return items === undefined ? files : Object.fromEntries(items.map(({ key, path }) => [path, files[key]]));
}

/** Readers see the old contents or the new ones. */
function replaceFile(path: string, bytes: Buffer): void {
  if (existsSync(path) && readFileSync(path).equals(bytes)) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, bytes, { mode: 0o644 });
  renameSync(`${path}.new`, path);
}
