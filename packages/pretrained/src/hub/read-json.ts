import { readFile } from 'node:fs/promises';
import { PretrainedError } from './pretrained-error.ts';

/**
 * The object in a JSON file.
 *
 * @throws PretrainedError if it cannot be read, or is no object
 */
export async function readJson<Contents extends object>(path: string): Promise<Contents> {
  let contents: unknown;
  try {
    contents = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new PretrainedError(`${path}: expected JSON, got an error: ${(cause as Error).message}.`, {
      cause,
    });
  }
  if (typeof contents === 'object' && contents !== null && !Array.isArray(contents))
    return contents as Contents;
  throw new PretrainedError(`${path}: expected a JSON object, got another value.`);
}
