import { hostname, networkInterfaces } from 'node:os';
import { addressRoutedTowards } from '@ringrun/collectives';
import { isLoopback, resolveAddresses } from '../store/endpoint.ts';

/**
 * Whether `name` is a name or address of this host; undefined while it does not resolve. Compares with the host name
 * first, because a pod's name may not be in the DNS yet.
 */
export async function isThisHost(name: string): Promise<boolean | undefined> {
  const own = hostname();
  if (isLoopback(name) || name === own || name.startsWith(`${own}.`)) return true;
  try {
    const local = new Set(localAddresses());
    return (await resolveAddresses(name)).some((address) => isLoopback(address) || local.has(address));
  } catch {
    return undefined;
  }
}

/**
 * The address at which other nodes reach this one: the local address of the route to the endpoint. On the endpoint's
 * own host that would be loopback, so the first other address is used. Loopback only if the endpoint is loopback, or if
 * this host has no other address.
 */
export async function advertisedAddress(endpoint: string): Promise<string> {
  if (isLoopback(endpoint) && !process.env['KUBERNETES_SERVICE_HOST']) return '127.0.0.1';
  const routed = await addressRoutedTowards(endpoint).catch(() => undefined);
  const outer = localAddresses().filter((address) => !isLoopback(address));
  if (routed !== undefined && !isLoopback(routed)) return routed;
  return outer.find((address) => address.includes('.')) ?? outer.at(0) ?? '127.0.0.1';
}

/** Without link-local addresses, which need a zone. */
function localAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:'));
}
