import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { InvalidArgumentError } from '@ringrun/collectives';

/** Where a store is, or will be. */
export interface HostPort {
  host: string;
  port: number;
}

/** Reads `tcp://host:port`, with an IPv6 address in brackets. `origin` names the setting in the error. */
export function parseEndpoint(text: string, origin: string): HostPort {
  const match = /^tcp:\/\/(?:\[([^\]]+)\]|([^:/]+)):(\d+)$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port < 1 || port > highestPort) {
    throw new InvalidArgumentError(
      `${origin} is "${text}", expected tcp://host:port with a port from 1 to ${highestPort}, such as tcp://127.0.0.1:29500.`,
    );
  }
  return { host: text.slice(text.indexOf('//') + 2, text.lastIndexOf(':')).replace(/^\[|\]$/g, ''), port };
}

const highestPort = 65535;

/** Refuses what can be no TCP port, before ZeroMQ tries it for ever. `lowest` is 0 where any free port will do. */
export function checkPort(port: number, lowest: 0 | 1): void {
  if (Number.isInteger(port) && port >= lowest && port <= highestPort) return;
  throw new InvalidArgumentError(
    `The store's port is ${port}, expected an integer from ${lowest} to ${highestPort}.`,
  );
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatHostPort({ host, port }: HostPort): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** A name for this machine alone, which nobody else can connect to. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/**
 * The addresses of a name, IPv4 before IPv6, so that the side that binds and the side that connects choose the same one.
 * Rejects with the resolver's error (`code` ENOTFOUND, EAI_AGAIN, …) when there is none now.
 */
export async function resolveAddresses(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return [...new Set(found.sort((a, b) => a.family - b.family).map(({ address }) => address))];
}
