import { hostname, networkInterfaces } from 'node:os';
import { addressRoutedTowards } from '@ringrun/collectives';
import { isLoopback, resolveAddresses } from '../store/endpoint.ts';

/**
 * Whether `name` is one of this host's own, as far as can be told now: undefined while it does not resolve. A pod knows its own name before the
 * DNS does.
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
 * What other nodes reach this one by: the address that is routed towards the endpoint. For the host of the endpoint that would be loopback, so it
 * is the endpoint's own address, or else the first that the host has. Loopback only where the endpoint is, or nothing else is there.
 */
export async function advertisedAddress(endpoint: string): Promise<string> {
  if (isLoopback(endpoint) && !process.env['KUBERNETES_SERVICE_HOST']) return '127.0.0.1';
  const routed = await addressRoutedTowards(endpoint).catch(() => undefined);
  const outer = localAddresses().filter((address) => !isLoopback(address));
  if (routed !== undefined && !isLoopback(routed)) return routed;
  return outer.find((address) => address.includes('.')) ?? outer.at(0) ?? '127.0.0.1';
}

/** Without those of a link alone, which need a zone to be reached by. */
function localAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:'));
}
