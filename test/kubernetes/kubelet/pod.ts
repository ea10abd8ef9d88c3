import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container, Pod, Probe } from 'kubernetes-types/core/v1.js';
import { ApiError } from './api-client.ts';
import type { ApiClient } from './api-client.ts';
import { RunningContainer } from './container.ts';
import type { ContainerEnd, Identity, Mount } from './container.ts';
import { CreateContainerConfigError, EnvironmentReader, expand } from './environment.ts';
import { findImage } from './images.ts';
import type { Image } from './images.ts';
import { Log } from './log.ts';
import { gateway } from './network.ts';
import type { Network, PodNetwork } from './network.ts';
import { parseQuantity } from './quantity.ts';
import { restartDelayMs, restarts } from './restart-policy.ts';
import { newRecord, statusOf } from './status.ts';
import type { ContainerRecord, PodRecord } from './status.ts';
import { Volumes } from './volumes.ts';

/** Settings that all pods of the kubelet share. */
export interface Kubelet {
  api: ApiClient;
  network: Network;
  images: readonly Image[];
  /** For the files of the pods. */
  folder: string;
  /** Prefix of the names of control groups. */
  prefix: string;
  /** Port of the API server at the gateway. */
  apiPort: number;
  /** Reports an event about a pod. */
  report: (pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

/** Milliseconds between two checks of volumes, and of any condition that a pod waits for. */
const retryMs = 1000;
const defaultTerminationLog = '/dev/termination-log';
/** Maximum bytes of a message that a kubelet reads, from the end of the file. */
const terminationMessageBytes = 4096;

/** Runs one pod, from its assignment to a node until it is deleted. */
export class PodWorker {
  readonly #kubelet: Kubelet;
  readonly #folder: string;
  readonly #record: PodRecord;
  readonly #running = new Map<string, RunningContainer>();
  readonly #logs = new Map<string, Log[]>();
  readonly #stop = new AbortController();
  readonly #finished: Promise<void>;
  #pod: Pod;
  #network: PodNetwork | undefined;
  #publishing: Promise<void> | undefined;
  #isOutdated = false;

  constructor(pod: Pod, kubelet: Kubelet) {
    this.#pod = pod;
    this.#kubelet = kubelet;
    this.#folder = join(kubelet.folder, pod.metadata!.uid!);
    mkdirSync(this.#folder, { recursive: true });
    const { containers, initContainers = [] } = pod.spec!;
    this.#record = {
      initContainers: initContainers.map(() => newRecord('PodInitializing')),
      containers: containers.map(() =>
        newRecord(initContainers.length > 0 ? 'PodInitializing' : 'ContainerCreating'),
      ),
      podIP: undefined,
      hostIP: gateway,
      startTime: new Date().toISOString(),
    };
    this.#finished = this.#run().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) console.error(`pod ${pod.metadata!.name}:`, error);
    });
  }

  /** Receives the newest state of the pod's object; ends the pod if it is being deleted. */
  update(pod: Pod): void {
    this.#pod = pod;
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata!;
    if (deletionTimestamp !== undefined && !this.#stop.signal.aborted) {
      this.#stop.abort();
      void this.#terminate(1000 * (deletionGracePeriodSeconds ?? 30));
    }
  }

  /** Ends the pod at once, without a report to the API. */
  async kill(): Promise<void> {
    this.#stop.abort();
    for (const container of this.#running.values()) container.kill('SIGKILL');
    await this.#finished;
  }

  /** The logs of a container's runs, oldest first. */
  logs(container: string): readonly Log[] {
    return this.#logs.get(container) ?? [];
  }

  container(name: string): RunningContainer | undefined {
    return this.#running.get(name);
  }

  async #run(): Promise<void> {
    const { spec } = this.#pod;
    this.#publish();
    this.#network = this.#kubelet.network.connect();
    const addresses = { podIP: this.#network.address, hostIP: gateway };
    this.#record.podIP = addresses.podIP;
    const volumes = new Volumes(this.#kubelet.api, this.#pod, join(this.#folder, 'volumes'), addresses);
    try {
      const folders = await this.#retried('FailedMount', () => volumes.prepare());
      void this.#refresh(volumes);
      for (const [i, container] of (spec!.initContainers ?? []).entries()) {
        await this.#runContainer(container, this.#record.initContainers[i], folders);
        if (this.#record.initContainers[i].state.terminated?.exitCode !== 0) return;
      }
      await Promise.allSettled(
        spec!.containers.map((container, i) =>
          this.#runContainer(container, this.#record.containers[i], folders),
        ),
      );
    } finally {
      volumes.remove();
      this.#network.remove();
    }
  }

  async #refresh(volumes: Volumes): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await delay(retryMs);
      await volumes.refresh().catch(() => undefined);
    }
  }

  /** Runs a container until it ends and is not restarted. */
  async #runContainer(spec: Container, record: ContainerRecord, folders: ReadonlyMap<string, string>) {
    for (;;) {
      const startedAt = new Date().toISOString();
      const runFolder = join(this.#folder, `${spec.name}-${record.restartCount}`);
      mkdirSync(runFolder);
      const container = await this.#retried(
        'Failed',
        () => this.#start(spec, folders, runFolder),
        (error) => {
          const reason =
            error instanceof CreateContainerConfigError
              ? 'CreateContainerConfigError'
              : 'CreateContainerError';
          record.state = { waiting: { reason, message: error.message } };
        },
      );
      this.#running.set(spec.name, container);
      if (this.#stop.signal.aborted) container.kill('SIGKILL');
      record.state = { running: { startedAt } };
      record.isReady = spec.readinessProbe === undefined;
      this.#publish();
      this.#kubelet.report(this.#pod, 'Normal', 'Started', `Started container ${spec.name}`);
      void this.#probe(spec, record, container);

      const end = await container.ended;
      this.#running.delete(spec.name);
      const terminated = terminatedState(end, startedAt, join(runFolder, 'termination-log'));
      record.isReady = false;
      record.state = { terminated };
      if (this.#stop.signal.aborted || !restarts(this.#pod.spec!.restartPolicy, end.exitCode)) break;
      record.lastState = { terminated };
      record.restartCount += 1;
      const waitMs = restartDelayMs(record.restartCount);
      if (waitMs > 0) {
        const message = `back-off ${waitMs / 1000}s restarting failed container=${spec.name}`;
        record.state = { waiting: { reason: 'CrashLoopBackOff', message } };
        this.#kubelet.report(this.#pod, 'Warning', 'BackOff', message);
      }
      this.#publish();
      await delay(waitMs, undefined, { signal: this.#stop.signal });
    }
    this.#publish();
  }

  /** Retries until it succeeds, and reports each failure. */
  async #retried<T>(reason: string, attempt: () => Promise<T>, onError?: (error: Error) => void): Promise<T> {
    for (let reported = ''; ;) {
      try {
        return await attempt();
      } catch (error) {
        this.#stop.signal.throwIfAborted();
        const { message } = error as Error;
        onError?.(error as Error);
        if (message !== reported) {
          this.#kubelet.report(this.#pod, 'Warning', reason, message);
          this.#publish();
        }
        reported = message;
        await delay(retryMs, undefined, { signal: this.#stop.signal });
      }
    }
  }

  async #start(
    spec: Container,
    folders: ReadonlyMap<string, string>,
    folder: string,
  ): Promise<RunningContainer> {
    const { metadata, spec: podSpec } = this.#pod;
    const { api, apiPort, images, prefix } = this.#kubelet;
    const image = findImage(images, spec.image!);
    if (image === undefined)
      throw new Error(`image ${spec.image}: expected one of ${images.map(({ name }) => name).join()}`);
    const hostname = podSpec!.hostname ?? metadata!.name!;
    const reader = new EnvironmentReader(api, this.#pod, this.#network!.address, gateway);
    const environment = await reader.read(spec, {
      ...image.environment,
      HOSTNAME: hostname,
      KUBERNETES_SERVICE_HOST: gateway,
      KUBERNETES_SERVICE_PORT: String(apiPort),
    });
    const entrypoint = spec.command ?? image.entrypoint;
    const args = spec.args ?? (spec.command === undefined ? image.command : []);
    const log = new Log(join(folder, 'output'));
    this.#logs.set(spec.name, [...(this.#logs.get(spec.name) ?? []), log]);
    return new RunningContainer({
      id: `${prefix}-${metadata!.uid}-${spec.name}-${this.#logs.get(spec.name)!.length}`,
      image,
      network: this.#network!.name,
      hostname,
      command: [...entrypoint, ...args].map((word) => expand(word, environment)),
      environment,
      workingDirectory: spec.workingDir ?? image.workingDirectory,
      identity: this.#identityOf(spec, image),
      mounts: [...this.#systemFiles(spec, hostname, folder), ...mountsOf(spec, folders)],
      hasReadOnlyRoot: spec.securityContext?.readOnlyRootFilesystem ?? false,
      limits: limitsOf(spec),
      folder,
      log,
    });
  }

  #identityOf({ securityContext: own }: Container, image: Image): Identity {
    const pod = this.#pod.spec!.securityContext;
    const user = own?.runAsUser ?? pod?.runAsUser ?? image.user;
    if ((own?.runAsNonRoot ?? pod?.runAsNonRoot) && user === 0) {
      throw new CreateContainerConfigError('container has runAsNonRoot and image will run as root');
    }
    return {
      user,
      group: own?.runAsGroup ?? pod?.runAsGroup ?? user,
      groups: pod?.fsGroup === undefined ? [] : [pod.fsGroup],
      hasCapabilities: user === 0 && !own?.capabilities?.drop?.includes('ALL'),
    };
  }

  /** /etc/hosts, /etc/resolv.conf, /etc/hostname and the termination log. */
  #systemFiles(spec: Container, hostname: string, folder: string): Mount[] {
    const namespace = this.#pod.metadata!.namespace!;
    const { subdomain } = this.#pod.spec!;
    const full = subdomain === undefined ? '' : `${hostname}.${subdomain}.${namespace}.svc.cluster.local `;
    const texts: Record<string, string> = {
      '/etc/hosts': `127.0.0.1 localhost\n::1 localhost\n${this.#network!.address} ${full}${hostname}\n`,
      '/etc/resolv.conf': `nameserver ${gateway}\nsearch ${namespace}.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n`,
      '/etc/hostname': `${hostname}\n`,
      [spec.terminationMessagePath ?? defaultTerminationLog]: '',
    };
    return Object.entries(texts).map(([to, text]) => {
      const from = join(folder, to.slice(to.lastIndexOf('/') + 1));
      writeFileSync(from, text);
      chmodSync(from, 0o666);
      return { from, to, isReadOnly: false };
    });
  }

  /** Only `httpGet` readiness probes; liveness probes are not made. */
  async #probe(spec: Container, record: ContainerRecord, container: RunningContainer): Promise<void> {
    const { readinessProbe } = spec;
    if (readinessProbe === undefined) return;
    while (this.#running.get(spec.name) === container && !this.#stop.signal.aborted) {
      await delay(retryMs);
      const isReady = await answers(spec, readinessProbe, this.#network!.address);
      if (isReady === record.isReady || this.#running.get(spec.name) !== container) continue;
      record.isReady = isReady;
      this.#publish();
    }
  }

  async #terminate(graceMs: number): Promise<void> {
    for (const container of this.#running.values()) container.kill('SIGTERM');
    if (this.#running.size > 0) {
      this.#kubelet.report(
        this.#pod,
        'Normal',
        'Killing',
        `Stopping containers ${[...this.#running.keys()].join()}`,
      );
    }
    await Promise.race([this.#finished, delay(graceMs)]);
    for (const container of this.#running.values()) container.kill('SIGKILL');
    await this.#finished;
    await this.#publishing;
    const { name, namespace, uid } = this.#pod.metadata!;
    await this.#kubelet.api
      .delete(`/api/v1/namespaces/${namespace}/pods/${name}`, {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        gracePeriodSeconds: 0,
        preconditions: { uid },
      })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      });
  }

  /** Sends the status, one request at a time and always the newest. */
  #publish(): void {
    this.#isOutdated = true;
    this.#publishing ??= this.#send().finally(() => {
      this.#publishing = undefined;
    });
  }

  async #send(): Promise<void> {
    while (this.#isOutdated) {
      this.#isOutdated = false;
      const { namespace, name, uid } = this.#pod.metadata!;
      const status = statusOf(this.#pod, this.#record, new Date().toISOString());
      try {
        const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
        this.#pod = {
          ...this.#pod,
          status: (await this.#kubelet.api.patch<Pod>(path, { metadata: { uid }, status })).status!,
        };
      } catch (error) {
        // Deleted, or replaced by another of the same name.
        if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return;
        console.error(`status of pod ${name}: ${(error as Error).message}`);
        await delay(retryMs);
        this.#isOutdated = true;
      }
    }
  }
}

function terminatedState({ exitCode, isOutOfMemory }: ContainerEnd, startedAt: string, log: string) {
  const message = readFileSync(log).subarray(-terminationMessageBytes).toString();
  return {
    exitCode,
    reason: isOutOfMemory && exitCode !== 0 ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error',
    ...(message !== '' && { message }),
    startedAt,
    finishedAt: new Date().toISOString(),
  };
}

function mountsOf({ volumeMounts = [] }: Container, folders: ReadonlyMap<string, string>): Mount[] {
  return volumeMounts.map(({ name, mountPath, subPath = '', readOnly = false }) => ({
    from: join(folders.get(name)!, subPath),
    to: mountPath,
    isReadOnly: readOnly,
  }));
}

function limitsOf({ resources }: Container) {
  const limits: Partial<Record<string, string | number>> = resources?.limits ?? {};
  const { cpu, memory } = limits;
  return {
    cpus: cpu === undefined ? undefined : parseQuantity(cpu),
    memoryBytes: memory === undefined ? undefined : parseQuantity(memory),
  };
}

function answers(
  { ports = [] }: Container,
  { httpGet, timeoutSeconds = 1 }: Probe,
  host: string,
): Promise<boolean> {
  const { path = '/', port: wanted } = httpGet!;
  const port = typeof wanted === 'number' ? wanted : ports.find(({ name }) => name === wanted)!.containerPort;
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(1000 * timeoutSeconds);
    get({ host, port, path, signal, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode! < 400);
    }).once('error', () => {
      resolve(false);
    });
  });
}
