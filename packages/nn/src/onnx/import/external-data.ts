import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { ArgumentError } from '../../errors/errors.ts';

/** Location of a tensor's bytes in a file beside the model. */
export interface ExternalData {
  /** Path relative to the model's folder. */
  readonly location: string;
  /** In bytes. */
  readonly offset: number;
  readonly length: number;
}

/** Reads the bytes of a tensor that is stored in a file beside the model, into a new buffer. */
export type ReadExternal = (tensor: string, data: ExternalData) => Uint8Array;

/** For a model that is given as bytes. */
export const noFiles: ReadExternal = (tensor, { location }) => {
  throw new ArgumentError(
    `importOnnx: expected the path of the model, got its bytes, but the file ${location} has the data of ${tensor}. Pass the path of the model instead of its bytes.`,
  );
};

/** Reads files from the folder of the model at this path. */
export function filesBeside(model: string): ReadExternal {
  return (tensor, data) => {
    const { location, offset, length } = data;
    const name = normalize(location);
    if (isAbsolute(name) || name.split(sep)[0] === '..') {
      throw new ArgumentError(
        `importOnnx: expected the data of ${tensor} in the folder of ${model}, got the location ${location}. Store the data beside the model.`,
      );
    }
    if (![offset, length].every((bytes) => Number.isSafeInteger(bytes) && bytes >= 0)) {
      throw new ArgumentError(
        `importOnnx: expected an offset and a length in bytes of the data of ${tensor}, got ${offset} and ${length}. The model is damaged.`,
      );
    }
    const path = join(dirname(model), name);
    return withFile(path, tensor, (file) => {
      const { size } = fstatSync(file);
      if (offset + length > size) {
        throw new ArgumentError(
          `importOnnx: expected ${length} bytes of ${tensor} at byte ${offset} of ${path}, got a file of ${size} bytes. Copy the whole file again.`,
        );
      }
      return bytesAt(file, offset, length);
    });
  };
}

function withFile<T>(path: string, tensor: string, use: (file: number) => T): T {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    return use(file);
  } catch (cause) {
    if (cause instanceof ArgumentError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ArgumentError(
      `importOnnx: expected the data of ${tensor} in ${path}, got ${reason}. Copy the data files of the model into its folder.`,
      { cause },
    );
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Bytes of one read; the system's limit is 2 GiB. */
const maxRead = 2 ** 30;

function bytesAt(file: number, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const read = readSync(file, bytes, done, Math.min(length - done, maxRead), offset + done);
    if (read === 0) throw new Error(`end of file after ${done} of ${length} bytes`);
    done += read;
  }
  return bytes;
}
