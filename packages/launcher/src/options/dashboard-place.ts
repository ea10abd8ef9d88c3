import { howToSet, isLoopback } from '@ringrun/rendezvous';
import type { HostPort } from '@ringrun/rendezvous';

/** Where `--dashboard` serves the page. */
export interface DashboardPlace extends HostPort {
  /** Whether the user chose the port. If not, a free one replaces a port that is in use. */
  readonly isChosen: boolean;
}

export const defaultPlace: DashboardPlace = { host: '127.0.0.1', port: 29600, isChosen: false };

/** Why the page cannot be served there; undefined if it can. */
export function refusalOf({ host, port }: HostPort, hasSecret: boolean): string | undefined {
  if (hasSecret || isLoopback(host)) return undefined;
  return (
    `--dashboard: expected a loopback address such as 127.0.0.1:${port}, because this job has no secret, got ${host}:${port}. ` +
    `To serve other hosts, ${howToSet}.`
  );
}
