import { connect } from 'node:net';
import { resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';

/** An address that did not accept a connection, and the error's code. */
export interface FailedAddress {
  readonly address: string;
  readonly code: string;
}

/** State of a host's name and TCP port. `failed`: the addresses that do not accept connections. */
export type Reachability =
  | { kind: 'unresolved'; code: string }
  | { kind: 'refused' | 'unreachable'; addresses: readonly string[]; failed: readonly FailedAddress[] }
  | {
      kind: 'accepted';
      addresses: readonly string[];
      failed: readonly FailedAddress[];
      /** The addresses that accept connections, in the order of `addresses`. */
      accepting: readonly string[];
    };

const probeTimeoutMs = 1500;

/** Maximum number of addresses of a name that are tried. */
const maxAddresses = 8;

/** Resolves the name and opens a TCP connection to each of its addresses, within 1.5 s after the name was resolved. */
export async function probe(target: HostPort): Promise<Reachability> {
  let addresses: string[];
  try {
    addresses = (await resolveAddresses(target.host)).slice(0, maxAddresses);
  } catch (error) {
    return { kind: 'unresolved', code: codeOf(error) };
  }
  const codes = await Promise.all(addresses.map((address) => tryToConnect(address, target.port)));
  const failed = addresses.flatMap((address, i) =>
    codes[i] === undefined ? [] : [{ address, code: codes[i] }],
  );
  if (failed.length < addresses.length) {
    const accepting = addresses.filter((_, i) => codes[i] === undefined);
    return { kind: 'accepted', addresses, failed, accepting };
  }
  const isRefused = codes.every((code) => code === 'ECONNREFUSED');
  return { kind: isRefused ? 'refused' : 'unreachable', addresses, failed };
}

/** One clause for a message: the addresses of the name, and the result of each attempt. */
export function describeReachability(host: string, state: Reachability): string {
  if (state.kind === 'unresolved') return `the name ${host} does not resolve (${state.code})`;
  const isAddress = state.addresses.length === 1 && state.addresses[0] === host;
  const resolved = isAddress ? '' : `${host} resolves to ${state.addresses.join(', ')}; `;
  const failures = state.failed.map(({ address, code }) =>
    code === 'ECONNREFUSED'
      ? `${address} refuses the connection, nothing listens on that port yet`
      : `${address} cannot be reached (${code})`,
  );
  const accepted =
    state.kind === 'accepted'
      ? [
          `${state.accepting.join(', ')} ${state.accepting.length === 1 ? 'accepts' : 'accept'} the connection, but ${state.accepting.length === 1 ? 'does' : 'do'} not answer as a ringrun store`,
        ]
      : [];
  return `${resolved}${[...accepted, ...failures].join('; ')}`;
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
