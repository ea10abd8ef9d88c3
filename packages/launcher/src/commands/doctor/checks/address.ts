import { networkInterfaces } from 'node:os';
import { addressRoutedTowards } from '@ringrun/collectives';
import { isLoopback } from '@ringrun/rendezvous';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** The route from this machine to the master. */
export interface Route {
  host: string;
  /** The first address that the master's name resolves to. */
  masterAddress: string;
  /** Address from which this machine reaches the master, published to the other ranks. Empty without a route. */
  ownAddress: string;
  /** Reason for a missing route. */
  obstacle: string;
  interfaces: readonly Interface[];
  /** 0 on the master. Undefined: not set. */
  nodeRank: number | undefined;
  /** Number of nodes of the job. Undefined: not set. */
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
      `no route to ${masterAddress}: ${obstacle}`,
      'use an address of the master in a network that both hosts share, and check the output of: ip route',
      measured,
    );
  }
  if (isLoopback(masterAddress)) return judgeLoopback(route);
  const at = `${ownAddress}${onInterface(ownAddress, route.interfaces)}`;
  if (isOwn(masterAddress, route.interfaces)) {
    if (nodeRank === undefined || nodeRank === 0)
      return ok(`${at} is the master address: this is the node of rank 0`, measured);
    return warning(
      `this is node ${nodeRank}, but the master address ${masterAddress} belongs to this machine`,
      `make ${host} resolve to the address of node 0, or set --node-rank 0 here`,
      measured,
    );
  }
  if (nodeRank === 0) {
    return warning(
      `this is node 0, but ${host} is ${masterAddress}, and this machine's addresses are ${addressesOf(route.interfaces)}`,
      'start rank 0 on the host that has the master address (ignore this if a service or a NAT forwards that address to this machine)',
      measured,
    );
  }
  return ok(`other nodes connect to this node at ${at}`, measured);
}

/** Only processes of the same host can reach a master at a loopback address. */
function judgeLoopback({ host, masterAddress, interfaces, nodeRank, nodes }: Route): Finding {
  const isName = !isLoopback(host);
  const found = isName
    ? `${host} is ${masterAddress} here, a loopback address`
    : `${masterAddress} is a loopback address`;
  const several = (nodes ?? 1) > 1 || (nodeRank ?? 0) > 0;
  const fix = `use an address that other nodes can reach (this machine has ${addressesOf(interfaces)})${isName ? `; the loopback address comes from the line with ${host} in /etc/hosts` : ''}`;
  if (several) return problem(`${found}: each node would wait for itself`, fix, { masterAddress });
  if (isName) return warning(`${found}: only processes of this machine can reach it`, fix, { masterAddress });
  return ok(`${found}: all processes must run on this machine`, { masterAddress });
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
