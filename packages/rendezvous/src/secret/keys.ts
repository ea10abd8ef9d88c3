import { createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { jobSecret } from './job-secret.ts';

/** An X25519 key pair, 32 bytes each. */
export interface KeyPair {
  readonly publicKey: Buffer;
  readonly secretKey: Buffer;
}

/** Keys of a job's store: all processes derive both pairs from the secret of the job. */
export interface StoreKeys {
  readonly server: KeyPair;
  /** The only client key pair that the server accepts. */
  readonly client: KeyPair;
}

const keyBytes = 32;

let derived: { secret: string; keys: StoreKeys } | undefined;

/**
 * Keys of the store, from the secret of the job. Undefined if the job has no secret.
 *
 * @throws InvalidArgumentError for an invalid secret.
 */
export function storeKeys(env: NodeJS.ProcessEnv = process.env): StoreKeys | undefined {
  const secret = jobSecret(env);
  if (secret === undefined) return undefined;
  if (derived?.secret !== secret) {
    const keys = { server: keyPair(secret, 'store server'), client: keyPair(secret, 'store client') };
    derived = { secret, keys };
  }
  return derived.keys;
}

/**
 * The 32-byte key with which ranks authenticate their data connections. All zeros if the job has no secret.
 *
 * @throws InvalidArgumentError for an invalid secret.
 */
export function dataConnectionKey(env: NodeJS.ProcessEnv = process.env): Uint8Array {
  const secret = jobSecret(env);
  return secret === undefined ? new Uint8Array(keyBytes) : derive(secret, 'data connections');
}

/**
 * The token of the dashboard: 32 characters of base64url. The secret cannot be derived from it. Undefined if the job
 * has no secret.
 *
 * @throws InvalidArgumentError for an invalid secret.
 */
export function dashboardToken(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const secret = jobSecret(env);
  return secret === undefined ? undefined : derive(secret, 'dashboard').subarray(0, 24).toString('base64url');
}

function keyPair(secret: string, purpose: string): KeyPair {
  const secretKey = derive(secret, purpose);
  return { secretKey, publicKey: publicKeyOf(secretKey) };
}

/** HKDF-SHA256 (RFC 5869). */
function derive(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'ringrun/1', purpose, keyBytes));
}

/** DER of a PKCS #8 private key before the 32 bytes of an X25519 key (RFC 8410). */
const privateKeyPrefix = Buffer.from('302e020100300506032b656e04220420', 'hex');

function publicKeyOf(secretKey: Buffer): Buffer {
  const der = Buffer.concat([privateKeyPrefix, secretKey]);
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  return key.export({ format: 'der', type: 'spki' }).subarray(-keyBytes);
}
