// A kubelet for tests: it runs the pods of several nodes as processes of this machine, in separate namespaces.
//
//   node --import tsx test/kubernetes/kubelet/main.ts CONFIG      in the network namespace of the API server, as root
//
// Differences from a real kubelet: images are files of this machine (images.ts); nodes share one bridge; no liveness
// or exec probes, lifecycle hooks, sidecar containers, evictions, port-forwards or terminals; no seccomp profiles.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Pod, Service } from 'kubernetes-types/core/v1.js';
import { ApiClient } from './api-client.ts';
import type { Credentials } from './api-client.ts';
import { resolve, serveDns } from './dns.ts';
import type { Image } from './images.ts';
import { gateway, Network } from './network.ts';
import { keepNode } from './nodes.ts';
import type { NodeOptions } from './nodes.ts';
import { PodWorker } from './pod.ts';
import type { Kubelet } from './pod.ts';
import { serve } from './server.ts';

export interface KubeletConfig {
  credentials: Credentials;
  /** Certificates of the server for logs and exec. */
  tls: { ca: string; cert: string; key: string };
  apiPort: number;
  nodes: NodeOptions[];
  images: Image[];
  /** Prefix of the names of network namespaces and control groups. */
  prefix: string;
  folder: string;
}

const config = JSON.parse(readFileSync(process.argv[2], 'utf8')) as KubeletConfig;
const api = new ApiClient(config.credentials);
const pods = new Map<string, Pod>();
const services = new Map<string, Service>();
const workers = new Map<string, PodWorker>();
const kubelet: Kubelet = {
  api,
  network: new Network(config.prefix),
  images: config.images,
  folder: config.folder,
  prefix: config.prefix,
  apiPort: config.apiPort,
  report: (pod, type, reason, message) => {
    const { name, namespace, uid, resourceVersion } = pod.metadata!;
    const now = new Date().toISOString();
    const event = {
      metadata: { name: `${name}.${randomUUID()}`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid, resourceVersion },
      source: { component: 'kubelet', host: pod.spec!.nodeName },
      reportingComponent: 'kubelet',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      type,
      reason,
      message,
    };
    api.post(`/api/v1/namespaces/${namespace}/events`, event).catch((error: unknown) => {
      console.error(`event of pod ${name}: ${(error as Error).message}`);
    });
  },
};

process.once('SIGTERM', () => {
  void Promise.all([...workers.values()].map((worker) => worker.kill())).then(() => process.exit());
});

await serveDns(gateway, (name) => resolve(name, pods.values(), services.values()));
await serve({
  address: gateway,
  port: config.nodes[0].kubeletPort,
  tls: config.tls,
  find: (namespace, name) => {
    const pod = [...pods.values()].find(
      ({ metadata }) => metadata!.namespace === namespace && metadata!.name === name,
    );
    return pod && workers.get(pod.metadata!.uid!);
  },
});
for (const node of config.nodes) void keepNode(api, node);
void api.watch<Service>('/api/v1/services', {
  set: (service) => services.set(service.metadata!.uid!, service),
  delete: (service) => services.delete(service.metadata!.uid!),
});
void api.watch<Pod>('/api/v1/pods', {
  set: (pod) => {
    const uid = pod.metadata!.uid!;
    pods.set(uid, pod);
    if (!config.nodes.some(({ name }) => name === pod.spec!.nodeName)) return;
    const worker = workers.get(uid);
    if (worker === undefined) workers.set(uid, new PodWorker(pod, kubelet));
    workers.get(uid)!.update(pod);
  },
  delete: (pod) => {
    pods.delete(pod.metadata!.uid!);
    workers.delete(pod.metadata!.uid!);
  },
});
console.log('ready');
