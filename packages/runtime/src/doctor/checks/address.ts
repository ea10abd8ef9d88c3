import { networkInterfaces } from 'node:os';
import { addressRoutedTowards } from '@ringrun/collectives';
import { isLoopback } from '../../store/endpoint.ts';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** How this machine lies towards the master. */
export interface Route {
  host: string;
  /** The first one of the master's. */
  masterAddress: string;
  /** Of this machine, from which the way leads there: what it tells the other ranks. Empty when there is no way. */
  ownAddress: string;
  /** Why there is none. */
  obstacle: string;
  interfaces: readonly Interface[];
  /** 0 for the master's. Undefined when nobody said. */
  nodeRank: number | undefined;
  /** Nodes of the job; undefined when nobody said. */
  nodes: number | undefined;
}

/** An address of this machine. */
export interface Interface {
  name: string;
  address: string;
}

export async function readRoute(
  host: string,
  masterAddress: string,
  job: Pick<Route, 'nodeRank' | 'nodes'>,
): Promise<Route> {
  const [ownAddress, obstacle] = await addressRoutedTowards(masterAddress).then(
    (address) => [address, ''],
    (error: unknown) => ['', (error as Error & { cause?: Error }).cause?.message ?? String(error)],
  );
  return { host, masterAddress, ownAddress, obstacle, interfaces: ownInterfaces(), ...job };
}

export function judgeRoute(route: Route): Finding {
  const { host, masterAddress, ownAddress, obstacle, nodeRank } = route;
  const measured = { masterAddress, ownAddress };
  if (ownAddress === '') {
    return problem(
      `no way leads to ${masterAddress}: ${obstacle}`,
      'give the master’s address in a network that both hosts have, and look at: ip route',
      measured,
    );
  }
  if (isLoopback(masterAddress)) return judgeLoopback(route);
  const at = `${ownAddress}${onInterface(ownAddress, route.interfaces)}`;
  if (isOwn(masterAddress, route.interfaces)) {
    if (nodeRank === undefined || nodeRank === 0)
      return ok(`${at} is the master's: this is the node of rank 0`, measured);
    return warning(
      `this is node ${nodeRank}, but ${masterAddress}, the master's, is its own`,
      `give ${host} the address of node 0, or this node the rank 0`,
      measured,
    );
  }
  if (nodeRank === 0) {
    return warning(
      `this is node 0, but ${host} is ${masterAddress}, and its own addresses are ${addressesOf(route.interfaces)}`,
      'start rank 0 on the host that the master address names; right only if a service or a NAT leads from there to here',
      measured,
    );
  }
  return ok(`${at} is what others get to know of this node`, measured);
}

/** A master at a loopback address is reached from its own host alone. */
function judgeLoopback({ host, masterAddress, interfaces, nodeRank, nodes }: Route): Finding {
  const isName = !isLoopback(host);
  const found = isName
    ? `${host} is ${masterAddress} here, a loopback address`
    : `${masterAddress} is a loopback address`;
  const several = (nodes ?? 1) > 1 || (nodeRank ?? 0) > 0;
  const fix = `take an address that other nodes reach (here: ${addressesOf(interfaces)})${isName ? `; the line with ${host} in /etc/hosts is the reason` : ''}`;
  if (several) return problem(`${found}: each node would wait for itself`, fix, { masterAddress });
  if (isName) return warning(`${found}: only processes of this machine get there`, fix, { masterAddress });
  return ok(`${found}: all processes have to be on this machine`, { masterAddress });
}

export function isOwn(address: string, interfaces: readonly Interface[] = ownInterfaces()): boolean {
  return isLoopback(address) || interfaces.some((own) => own.address === address);
}

function ownInterfaces(): Interface[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? []).filter(({ internal }) => !internal).map(({ address }) => ({ name, address })),
  );
}

function addressesOf(interfaces: readonly Interface[]): string {
  return interfaces.map(({ name, address }) => `${address} on ${name}`).join(', ') || 'none';
}

function onInterface(address: string, interfaces: readonly Interface[]): string {
  const name = interfaces.find((own) => own.address === address)?.name;
  return name === undefined ? '' : ` on ${name}`;
}
