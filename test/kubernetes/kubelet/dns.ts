import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Pod, Service } from 'kubernetes-types/core/v1.js';
import { gateway } from './network.ts';
import { encodeAnswer, parseQuestion, typeA } from './dns-message.ts';

const domain = '.svc.cluster.local';

/**
 * Addresses of a name in the cluster: `service.namespace.svc.cluster.local`, or with a pod's host name before it.
 * Undefined if the name does not exist. Pods that are not ready have no address unless their service publishes it.
 * kube-proxy does not run, so a service with its own address is answered with the addresses of its pods, and the
 * service `kubernetes` with the address of the API server.
 */
export function resolve(
  name: string,
  pods: Iterable<Pod>,
  services: Iterable<Service>,
): string[] | undefined {
  if (!name.endsWith(domain)) return undefined;
  const labels = name.slice(0, -domain.length).split('.');
  const [namespace, serviceName, hostname] = [labels.at(-1), labels.at(-2), labels.at(-3)];
  const service = [...services].find(
    ({ metadata }) => metadata!.name === serviceName && metadata!.namespace === namespace,
  );
  if (service === undefined || labels.length > 3) return undefined;
  const { selector, publishNotReadyAddresses } = service.spec!;
  if (selector === undefined) return serviceName === 'kubernetes' ? [gateway] : undefined;
  const selected = [...pods].filter(
    ({ metadata, status }) =>
      metadata!.namespace === namespace &&
      Object.entries(selector).every(([key, value]) => metadata!.labels?.[key] === value) &&
      status?.podIP !== undefined &&
      (publishNotReadyAddresses === true || isReady({ status })),
  );
  if (hostname === undefined) return selected.map(({ status }) => status!.podIP!);
  const named = selected.filter(
    ({ spec }) => spec!.hostname?.toLowerCase() === hostname && spec!.subdomain === serviceName,
  );
  return named.length === 0 ? undefined : named.map(({ status }) => status!.podIP!);
}

function isReady({ status }: Pick<Pod, 'status'>): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Answers on UDP port 53. */
export async function serveDns(
  address: string,
  lookUp: (name: string) => string[] | undefined,
): Promise<void> {
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address: client }) => {
    const question = parseQuestion(message);
    const addresses = lookUp(question.name);
    const answer = encodeAnswer(question, question.type === typeA ? addresses : addresses && []);
    socket.send(answer, port, client);
  });
  socket.bind(53, address);
  await once(socket, 'listening');
}
