import { setTimeout as sleep } from 'node:timers/promises';
import { isIP } from 'node:net';
import { formatDuration } from '@ringrun/core';
import { WaitReporter, resolveAddresses } from '@ringrun/rendezvous';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Result of resolving the master's name. */
export interface Resolution {
  host: string;
  /** IPv4 before IPv6. Empty if the name does not resolve. */
  addresses: readonly string[];
  /** Code of the resolver's last error, such as ENOTFOUND. Undefined if the name resolves. */
  code: string | undefined;
  waitedMs: number;
}

const resolveEveryMs = 500;

/**
 * Retries until the name resolves or `timeoutMs` is over: a pod's name appears in DNS up to 30 s after the pod has
 * started.
 */
export async function resolvePatiently(host: string, timeoutMs: number): Promise<Resolution> {
  const startedAt = performance.now();
  const lines = new WaitReporter('doctor');
  for (;;) {
    const waited = () => performance.now() - startedAt;
    try {
      return { host, addresses: await resolveAddresses(host), code: undefined, waitedMs: waited() };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? String(error);
      if (waited() >= timeoutMs) return { host, addresses: [], code, waitedMs: waited() };
      lines.report(`the name ${host}, which does not resolve (${code})`, startedAt, timeoutMs);
    }
    await sleep(Math.min(resolveEveryMs, Math.max(timeoutMs - waited(), 0)));
  }
}

export function judgeName({ host, addresses, code, waitedMs }: Resolution): Finding {
  if (isIP(host) !== 0) return ok(`${host} is an address`);
  const measured = { host, addresses, code, waitedMs };
  if (addresses.length === 0) {
    return problem(
      `${host} did not resolve within ${formatDuration(waitedMs)}: ${code ?? 'no address'}`,
      fixFor(code),
      measured,
    );
  }
  const found = `${host} resolves to ${addresses.join(', ')}`;
  if (addresses.filter((address) => isIP(address) === 4).length > 1) {
    return warning(
      `${found}: ranks may connect to different hosts`,
      "use a name of one host: in Kubernetes the master pod's own service (<job>-master-0, <trainjob>-node-0-0.<trainjob>), not the service of all pods",
      measured,
    );
  }
  return ok(waitedMs > 2000 ? `${found}, after ${formatDuration(waitedMs)}` : found, measured);
}

function fixFor(code: string | undefined): string {
  if (code === 'EAI_AGAIN') {
    return 'no name server answers: check /etc/resolv.conf; in Kubernetes run kubectl -n kube-system get pods -l k8s-app=kube-dns, and check that the NetworkPolicies allow DNS (port 53)';
  }
  return 'check the spelling, or use an address; in Kubernetes the name exists only while its pod and service do: kubectl get pods,services';
}
