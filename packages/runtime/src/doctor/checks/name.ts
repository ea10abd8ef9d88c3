import { setTimeout as sleep } from 'node:timers/promises';
import { isIP } from 'node:net';
import { resolveAddresses } from '../../store/endpoint.ts';
import { WaitingLines, formatDuration } from '../../store/waiting-lines.ts';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** What the resolver says of the master's name. */
export interface Resolution {
  host: string;
  /** IPv4 before IPv6; empty when there are none. */
  addresses: readonly string[];
  /** Of the resolver's last error, such as ENOTFOUND; undefined when the name resolves. */
  code: string | undefined;
  waitedMs: number;
}

const resolveEveryMs = 500;

/** Asks until the name resolves, at most `timeoutMs`: that of a pod appears in DNS up to 30 s after the pod has started. */
export async function resolvePatiently(host: string, timeoutMs: number): Promise<Resolution> {
  const startedAt = performance.now();
  const lines = new WaitingLines('doctor');
  for (;;) {
    const waited = () => performance.now() - startedAt;
    try {
      return { host, addresses: await resolveAddresses(host), code: undefined, waitedMs: waited() };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? String(error);
      if (waited() >= timeoutMs) return { host, addresses: [], code, waitedMs: waited() };
      lines.say(`the name ${host}, which does not resolve (${code})`, startedAt, timeoutMs);
    }
    await sleep(Math.min(resolveEveryMs, Math.max(timeoutMs - waited(), 0)));
  }
}

export function judgeName({ host, addresses, code, waitedMs }: Resolution): Finding {
  if (isIP(host) !== 0) return ok(`${host} is an address`);
  const measured = { host, addresses, code, waitedMs };
  if (addresses.length === 0) {
    return problem(
      `${host} does not resolve: ${code ?? 'no address'}, for ${formatDuration(waitedMs)}`,
      fixFor(code),
      measured,
    );
  }
  const found = `${host} resolves to ${addresses.join(', ')}`;
  if (addresses.filter((address) => isIP(address) === 4).length > 1) {
    return warning(
      `${found}: ranks may take different ones for the master`,
      'name one host: in Kubernetes the service of the one pod (<job>-master-0, <trainjob>-node-0-0.<trainjob>), not that of all pods',
      measured,
    );
  }
  return ok(waitedMs > 2000 ? `${found}, after ${formatDuration(waitedMs)}` : found, measured);
}

function fixFor(code: string | undefined): string {
  if (code === 'EAI_AGAIN') {
    return 'no name server answers: look at /etc/resolv.conf; in Kubernetes at kubectl -n kube-system get pods -l k8s-app=kube-dns, and whether a NetworkPolicy lets DNS through (port 53)';
  }
  return 'look for a slip of the pen, or give its address; in Kubernetes the name exists as long as its pod and service do: kubectl get pods,services';
}
