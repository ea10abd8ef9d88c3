import { connect } from 'node:net';
import { resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';

/** State of a host's name and TCP port. */
export type Reachability =
  | { kind: 'unresolved'; code: string }
  | { kind: 'refused'; addresses: readonly string[] }
  | { kind: 'unreachable'; addresses: readonly string[]; code: string }
  | { kind: 'accepted'; addresses: readonly string[] };

const probeTimeoutMs = 1500;

/** Resolves the name and opens a TCP connection to its first address, within 1.5 s after the name was resolved. */
export async function probe(target: HostPort): Promise<Reachability> {
  let addresses: string[];
  try {
    addresses = await resolveAddresses(target.host);
  } catch (error) {
    return { kind: 'unresolved', code: codeOf(error) };
  }
  const failure = await tryToConnect(addresses[0], target.port);
  if (failure === undefined) return { kind: 'accepted', addresses };
  if (failure === 'ECONNREFUSED') return { kind: 'refused', addresses };
  return { kind: 'unreachable', addresses, code: failure };
}

/** One clause for a message: the address and the result. */
export function describeReachability(host: string, state: Reachability): string {
  if (state.kind === 'unresolved') return `the name ${host} does not resolve (${state.code})`;
  const first = state.addresses[0];
  const resolved =
    state.addresses.length === 1 && first === host
      ? ''
      : `${host} resolves to ${state.addresses.join(', ')}; `;
  switch (state.kind) {
    case 'refused':
      return `${resolved}${first} refuses the connection, nothing listens on that port yet`;
    case 'unreachable':
      return `${resolved}${first} cannot be reached (${state.code})`;
    case 'accepted':
      return `${resolved}${first} accepts the connection, but does not answer as a ringrun store`;
  }
}

/** Resolves with undefined if the connection was opened, otherwise with the error's code. */
function tryToConnect(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: probeTimeoutMs });
    const end = (outcome: string | undefined) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => {
      end(undefined);
    });
    socket.once('timeout', () => {
      end('ETIMEDOUT');
    });
    socket.once('error', (error) => {
      end(codeOf(error));
    });
  });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
