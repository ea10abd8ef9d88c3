import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from './api-client.ts';
import { gateway } from './network.ts';

export interface NodeOptions {
  name: string;
  kubeletPort: number;
  /** Resources that the scheduler may assign to pods, independent of this machine's. */
  capacity: Record<string, string>;
}

/** A node counts as lost after 40 s without a renewal. */
const renewMs = 10_000;

/** Registers a node and keeps it alive. Never resolves. */
export async function keepNode(api: ApiClient, { name, kubeletPort, capacity }: NodeOptions): Promise<never> {
  const now = new Date().toISOString();
  await api.post('/api/v1/nodes', {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } },
  });
  await api.patch(`/api/v1/nodes/${name}/status`, {
    status: {
      capacity,
      allocatable: capacity,
      addresses: [
        { type: 'InternalIP', address: gateway },
        { type: 'Hostname', address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        },
      ],
    },
  });
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  const spec = () => ({
    holderIdentity: name,
    leaseDurationSeconds: 40,
    // A time with microseconds.
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  });
  await api.post(leases, { metadata: { name }, spec: spec() });
  for (;;) {
    await delay(renewMs);
    await api.patch(`${leases}/${name}`, { spec: spec() }).catch((error: unknown) => {
      console.error(`lease of node ${name}: ${(error as Error).message}`);
    });
  }
}
