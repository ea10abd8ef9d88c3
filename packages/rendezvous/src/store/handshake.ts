import { connect, isIP } from 'node:net';
import { Dealer, uninterrupted } from './zeromq.ts';
import type { StoreKeys } from '../secret/keys.ts';
import { clientCurve } from './curve.ts';
import { formatHostPort } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';

/** Why the ZeroMQ handshake with a store fails. */
export type SecretDisagreement =
  'secrets differ' | 'only the store has a secret' | 'only this process has a secret';

export interface HandshakeTarget extends HostPort {
  keys: StoreKeys | undefined;
}

/** Milliseconds for each of the two steps. */
const stepMs = 1500;

/** A server that ends may break one handshake; one with another key breaks all of them. */
const failuresOfOtherKeys = 3;

/**
 * Determines whether the server at an open port of an address refuses this process because of the secret. Undefined if not, or if the
 * server does not answer within 3 s.
 */
export async function findSecretDisagreement(
  target: HandshakeTarget,
): Promise<SecretDisagreement | undefined> {
  const mechanism = await readMechanism(target);
  if (mechanism === 'NULL' && target.keys) return 'only this process has a secret';
  if (mechanism !== 'CURVE') return undefined;
  if (!target.keys) return 'only the store has a secret';
  return (await isRefused(target)) ? 'secrets differ' : undefined;
}

/** Length of the greeting of ZMTP 3, and the bytes with the name of the mechanism (RFC 23). */
const greetingBytes = 64;
const mechanismBytes = [12, 32] as const;

/** The security mechanism that the server announces. Undefined if it is not a ZeroMQ server. */
function readMechanism({ host, port }: HostPort): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let received = Buffer.alloc(0);
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      const isGreeting = received.length >= greetingBytes && received[0] === 0xff && received[9] === 0x7f;
      resolve(isGreeting ? received.toString('latin1', ...mechanismBytes).replace(/\0+$/, '') : undefined);
    };
    const timer = setTimeout(end, stepMs);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= greetingBytes) end();
    });
    socket.once('error', end).once('end', end);
    socket.write(startOfGreeting);
  });
}

/**
 * Signature and version 3.0. Omits this process's mechanism: a server with a different one would close the connection
 * at once.
 */
const startOfGreeting = Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]);

/** True if the server repeatedly breaks the handshake. Uses a separate socket, whose events end with it. */
async function isRefused({ keys, ...at }: HandshakeTarget): Promise<boolean> {
  const socket = uninterrupted(
    () =>
      new Dealer({
        ...clientCurve(keys),
        linger: 0,
        reconnectInterval: 20,
        ipv6: isIP(at.host) === 6,
      }),
  );
  const timer = setTimeout(() => {
    socket.close();
  }, stepMs);
  const { events } = socket;
  let failures = 0;
  try {
    uninterrupted(() => {
      socket.connect(`tcp://${formatHostPort(at)}`);
    });
    for await (const { type } of events) {
      if (type === 'handshake') return false;
      if (type.startsWith('handshake:error')) failures += 1;
      if (failures === failuresOfOtherKeys) return true;
    }
    return false;
  } finally {
    clearTimeout(timer);
    if (!socket.closed) socket.close();
  }
}
