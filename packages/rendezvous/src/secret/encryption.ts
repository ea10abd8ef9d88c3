import type { CpuGroupOptions } from '@ringrun/collectives';
import { InvalidArgumentError, RingrunError } from '@ringrun/core';
import { howToSet, jobSecret } from './job-secret.ts';
import { dataConnectionKey } from './keys.ts';

/**
 * How the ranks of a job protect their data connections: the key that follows from the secret of the job, and encryption
 * if the option or RINGRUN_ENCRYPT asks for it.
 *
 * @param option The option `encrypt` of initProcessGroup.
 * @throws InvalidArgumentError for an invalid variable or secret; RingrunError `ERR_SECRET_REQUIRED` for encryption
 * without a secret.
 */
export function dataConnectionSecurity(
  option: boolean | undefined,
  env: NodeJS.ProcessEnv = process.env,
): Required<Pick<CpuGroupOptions, 'key' | 'encrypt'>> {
  const encrypt = option ?? encryptsByEnvironment(env);
  if (encrypt) requireSecretToEncrypt(env);
  return { key: dataConnectionKey(env), encrypt };
}

/** RINGRUN_ENCRYPT as a boolean. */
export function encryptsByEnvironment(env: NodeJS.ProcessEnv): boolean {
  const given = env['RINGRUN_ENCRYPT']?.trim() ?? '';
  if (given === '' || given === '0') return false;
  if (given === '1') return true;
  throw new InvalidArgumentError(
    `RINGRUN_ENCRYPT: expected 1 to encrypt data connections, or 0, got '${given}'. Set it to 1 or unset it.`,
  );
}

/** @throws RingrunError `ERR_SECRET_REQUIRED` if the job has no secret, from which keys could be derived. */
export function requireSecretToEncrypt(env: NodeJS.ProcessEnv): void {
  if (jobSecret(env) !== undefined) return;
  throw new RingrunError(
    'ERR_SECRET_REQUIRED',
    `Encryption of data connections (RINGRUN_ENCRYPT): expected a secret of the job, got none. To set one, ${howToSet}.`,
  );
}
