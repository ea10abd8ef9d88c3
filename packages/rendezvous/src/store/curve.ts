/** CURVE, the encryption and authentication of ZeroMQ (RFC 26), with the keys of the job's store. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RingrunError } from '@ringrun/core';
import { Context, Reply, capability, uninterrupted } from './zeromq.ts';
import type { KeyPair, StoreKeys } from '../secret/keys.ts';

/** Options of the client's socket. */
export function clientCurve(keys: StoreKeys | undefined) {
  if (!keys) return {};
  requireCurve();
  return {
    curveServerKey: z85(keys.server.publicKey),
    curvePublicKey: z85(keys.client.publicKey),
    curveSecretKey: z85(keys.client.secretKey),
  };
}

/** Security of one store server. */
export interface ServerCurve {
  /** Whether clients need the secret of the job. */
  readonly isSecret: boolean;
  /** Options of the server's socket. */
  readonly options: object;
  /** Called after the socket is closed. */
  release(): Promise<void>;
}

/** Options of the server's socket, and the authenticator that accepts the job's client key only. */
export async function serverCurve(keys: StoreKeys | undefined): Promise<ServerCurve> {
  if (!keys) return { isSecret: false, options: {}, release: () => Promise.resolve() };
  requireCurve();
  const { context, domain, release } = await authenticate(keys.client);
  return {
    isSecret: true,
    options: {
      context,
      curveServer: true,
      curveSecretKey: z85(keys.server.secretKey),
      zapDomain: domain,
      // Without an answer of the authenticator, clients are refused.
      zapEnforceDomain: true,
    },
    release,
  };
}

/**
 * A ZeroMQ context asks one authenticator, at this address, about all clients (RFC 27). The default context belongs to
 * all threads of the process and to the user's sockets, so the stores of a thread use a separate context.
 */
const authenticatorAddress = 'inproc://zeromq.zap.01';

interface Authenticator {
  readonly socket: Reply;
  readonly ended: Promise<void>;
}

let context: Context | undefined;
let authenticator: Promise<Authenticator> | undefined;
/** The accepted client key of each domain; a domain is one store. */
const clientKeys = new Map<string, Buffer>();
let domains = 0;

async function authenticate(client: KeyPair) {
  const domain = `ringrun store ${++domains}`;
  // Before the first await, so that `release` of another store does not close the authenticator.
  clientKeys.set(domain, client.publicKey);
  context ??= new Context();
  authenticator ??= startAuthenticator(context);
  const starting = authenticator;
  const release = async () => {
    clientKeys.delete(domain);
    if (clientKeys.size > 0) return;
    authenticator = undefined;
    const { socket, ended } = await starting;
    // A thread that ends while it receives would abort the process.
    socket.close();
    await ended;
  };
  try {
    await starting;
  } catch (error) {
    clientKeys.delete(domain);
    authenticator = undefined;
    throw error;
  }
  return { context, domain, release };
}

async function startAuthenticator(of: Context): Promise<Authenticator> {
  const socket = await bindAuthenticator(of);
  return { socket, ended: answer(socket) };
}

/** ZeroMQ closes an earlier authenticator on its own thread, a moment after `close`. */
async function bindAuthenticator(of: Context): Promise<Reply> {
  const deadline = performance.now() + 5000;
  for (;;) {
    const socket = uninterrupted(() => new Reply({ context: of, linger: 0 }));
    try {
      await socket.bind(authenticatorAddress);
      return socket;
    } catch (error) {
      socket.close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || performance.now() > deadline) throw error;
      await sleep(1);
    }
  }
}

/** Request: version, id, domain, address, identity, mechanism, client's public key. */
async function answer(socket: Reply): Promise<void> {
  for await (const [version, id, domain, , , , ...keys] of socket) {
    const accepted = clientKeys.get(domain.toString());
    const isMember = accepted !== undefined && keys.length === 1 && accepted.equals(keys[0]);
    const [status, text] = isMember ? ['200', 'OK'] : ['400', 'unknown client key'];
    await socket.send([version, id, status, text, '', '']);
  }
}

function requireCurve(): void {
  if (capability.curve === true) return;
  throw new RingrunError(
    'ERR_SECRET_UNSUPPORTED',
    'The store cannot use the secret of the job: expected a ZeroMQ library with CURVE, got one without. ' +
      'Reinstall the package zeromq without compiling it, or compile it with CURVE.',
  );
}

const z85Characters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';

/** Z85 (ZeroMQ RFC 32): five characters for four bytes. */
export function z85(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const word = bytes.readUInt32BE(at);
    for (let power = 85 ** 4; power >= 1; power /= 85) text += z85Characters[Math.floor(word / power) % 85];
  }
  return text;
}
