import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { InvalidArgumentError } from '@ringrun/core';

/** Address of a store. */
export interface HostPort {
  /** Name or IP address of a machine. */
  host: string;
  /** TCP port. */
  port: number;
}

/** Parses `tcp://host:port`, with an IPv6 address in brackets. `origin` is the setting's name for the error. */
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

/** Refuses invalid TCP ports, which ZeroMQ would retry forever. `lowest` is 0 if any free port may be chosen. */
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

/** True for loopback names and addresses, which other machines cannot connect to. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/**
 * The addresses of a name, IPv4 before IPv6, so that server and client choose the same one.
 * Rejects with the resolver's error (`code` ENOTFOUND, EAI_AGAIN, …) if there is none.
 */
export async function resolveAddresses(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return [...new Set(found.sort((a, b) => a.family - b.family).map(({ address }) => address))];
}
