import { InvalidArgumentError } from '@ringrun/core';

/** A transport that the user can force for all operations. */
export type RequestedTransport = 'shm' | 'tcp';

const transports: readonly string[] = ['shm', 'tcp'] satisfies RequestedTransport[];

/**
 * Returns the requested transport: the option, else RINGRUN_TRANSPORT, else null.
 *
 * @throws InvalidArgumentError for an unknown name.
 */
export function requestedTransport(
  option: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): RequestedTransport | null {
  const [given, where] =
    option === undefined
      ? [env['RINGRUN_TRANSPORT'], 'RINGRUN_TRANSPORT']
      : [option, "the option 'transport'"];
  if (given === undefined || given === '') return null;
  if (!transports.includes(given)) {
    throw new InvalidArgumentError(
      `${where} is '${given}', expected 'shm' or 'tcp'. Leave it out to let ringrun choose`,
    );
  }
  return given as RequestedTransport;
}
