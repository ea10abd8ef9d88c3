import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, RingrunError } from '@ringrun/core';
import { commandToCreate, maxCharacters, readSecretText } from './secret-file.ts';

const fewestCharacters = 16;

const howToCreate = 'Create one with: openssl rand -base64 32';

/** Instructions for messages: how to give a job of several nodes a secret. */
export const howToSet = `run \`${commandToCreate('ringrun.secret')}\`, copy the file to every node and set RINGRUN_SECRET_FILE=ringrun.secret there`;

/**
 * The secret of the job: RINGRUN_SECRET, or the text in the file RINGRUN_SECRET_FILE (such as a mounted Kubernetes
 * Secret). Undefined if neither is set.
 *
 * @throws InvalidArgumentError, without the secret, if the file cannot be read or the secret has fewer than 16 or more
 * than 4096 characters.
 */
export function jobSecret(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const text = env['RINGRUN_SECRET']?.trim();
  if (text) return checkSecret(text, 'RINGRUN_SECRET');
  const file = env['RINGRUN_SECRET_FILE']?.trim();
  return file ? readSecretFile(file, 'RINGRUN_SECRET_FILE', env) : undefined;
}

/**
 * Reads a secret from a file or a pipe, without the white space around it. Prints a warning if other users can read or
 * replace the file.
 *
 * @param origin Name of the setting for errors, such as `--secret-file`.
 * @throws InvalidArgumentError as `jobSecret` does; RingrunError `ERR_SECRET_EXPOSED` if other users can read or replace the
 * file and RINGRUN_REQUIRE_SECRET is 1.
 */
export function readSecretFile(path: string, origin: string, env: NodeJS.ProcessEnv = process.env): string {
  return checkSecret(readSecretText(path, origin, env).trim(), `${origin} (${path})`);
}

/** A secret for a job of one node, in the form of RINGRUN_SECRET. */
export function createSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** @throws RingrunError `ERR_SECRET_REQUIRED` if RINGRUN_REQUIRE_SECRET is 1 and the job has no secret. */
export function requireSecret(env: NodeJS.ProcessEnv = process.env): void {
  if (env['RINGRUN_REQUIRE_SECRET']?.trim() !== '1' || jobSecret(env) !== undefined) return;
  throw new RingrunError(
    'ERR_SECRET_REQUIRED',
    `RINGRUN_REQUIRE_SECRET is 1: expected a secret of the job (RINGRUN_SECRET), got none. To set one, ${howToSet}.`,
  );
}

/** The line about a job of several nodes without a secret. */
export const noSecretWarning =
  'ringrun: this job has no secret: anyone who can connect to its ports can read and change its gradients, or end it. ' +
  `To prevent this, ${howToSet}.`;

function checkSecret(text: string, origin: string): string {
  if (text.length > maxCharacters) {
    throw new InvalidArgumentError(
      `${origin}: expected a secret of at most ${maxCharacters} characters, got more. ${howToCreate}`,
    );
  }
  if (text.length >= fewestCharacters) return text;
  throw new InvalidArgumentError(
    `${origin}: expected a secret of at least ${fewestCharacters} characters, got ${text.length}. ${howToCreate}`,
  );
}
