import { RingrunError } from '@ringrun/core';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';

/** Adds file and place to the errors of a decoder. Errors of ringrun have them. */
export async function asInvalid<T>(url: string, where: string, act: () => Promise<T> | T): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof RingrunError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const problem = `${where} is corrupt, truncated or not supported (${reason})`;
    throw new InvalidDataError(url, problem, 'Write the file again.', { cause: error });
  }
}
