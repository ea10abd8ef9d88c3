import { open, readFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { givenPath, pathProblem } from '@ringrun/core';
import { formatBytes, knownFormat } from '../storage/known-formats.ts';
import { CheckpointError, type CheckpointProblem } from './checkpoint-error.ts';
import { elementsAt, headerLength, readHeader, wordBytes, type ArrayWithShape } from './safetensors.ts';
import { filesOfIndex } from './safetensors-index.ts';

/** Maximum bytes per read; Node rejects reads of 2 GiB. */
const maxBytesPerRead = 2 ** 30;

/**
 * Loads a safetensors file, for example one written by `safetensors.torch.save_file(model.state_dict(),
 * path)`:
 *
 * ```ts
 * model.loadStateDict(await loadSafetensors('resnet18.safetensors'));
 * ```
 *
 * For a model in several files, pass its `model.safetensors.index.json`: its files are read from the same folder. Each
 * tensor has its own memory. Sizes and offsets are checked against the file before memory is allocated.
 *
 * @param path path or `file:` URL of a local file
 * @returns tensors by name, in file order; float16 and bfloat16 as `Float16Bits` and `BFloat16Bits`, booleans
 * as bytes 0 and 1
 * @throws CheckpointError `ERR_CHECKPOINT_NOT_FOUND`; `ERR_CHECKPOINT_NOT_READ` with the file system's reason;
 * `ERR_CHECKPOINT_DAMAGED` if the file is not valid safetensors, in which case the message names the actual format if
 * it is known, or if a file of an index lacks a tensor
 */
export async function loadSafetensors(path: string | URL): Promise<Map<string, ArrayWithShape>> {
  const file = givenPath(path, 'loadSafetensors');
  return file.endsWith('.json') ? await loadIndexed(file) : await loadFile(file);
}

async function loadIndexed(path: string): Promise<Map<string, ArrayWithShape>> {
  const files = filesOfIndex(await textOf(path), (problem) => failed(path, 'damaged', new Error(problem)));
  const tensors = new Map<string, ArrayWithShape>();
  for (const [name, names] of files) {
    const file = join(dirname(path), name);
    const found = await loadFile(file);
    for (const tensor of names) {
      const value = found.get(tensor);
      if (!value) throw failed(file, 'damaged', new Error(`it lacks ${tensor}, which ${path} lists for it`));
      tensors.set(tensor, value);
    }
  }
  return tensors;
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error as Error);
  }
}

async function loadFile(path: string): Promise<Map<string, ArrayWithShape>> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error as Error);
  });
  try {
    return await tensorsOf(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw unreadable(path, error as Error);
    throw failed(path, 'damaged', await recognized(file, error as Error));
  } finally {
    await file.close();
  }
}

/** An error that names the actual format of the file, if known. */
async function recognized(file: FileHandle, error: Error): Promise<Error> {
  const start = new Uint8Array(formatBytes);
  const { bytesRead } = await file.read(start, 0, formatBytes, 0);
  const format = knownFormat(start.subarray(0, bytesRead));
  if (!format) return error;
  return new Error(`it is ${format.what}. ${format.cure.replace(/\.$/, '')}`, { cause: error });
}

function unreadable(path: string, cause: Error): CheckpointError {
  const problem = pathProblem(path, 'file');
  const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
  const reason = problem === undefined || isMissing ? cause.message : `it ${problem} (${cause.message})`;
  return failed(path, isMissing ? 'not found' : 'not read', new Error(reason, { cause }));
}

function failed(path: string, problem: CheckpointProblem, cause: Error): CheckpointError {
  const reason = problem === 'damaged' ? `expected a safetensors file, but ${cause.message}` : cause.message;
  return new CheckpointError(problem, `loadSafetensors: ${path} was not loaded: ${reason}.`, {
    cause,
  });
}

async function tensorsOf(file: FileHandle): Promise<Map<string, ArrayWithShape>> {
  const { size } = await file.stat();
  const length = headerLength(await read(file, 0, Math.min(wordBytes, size)), size);
  const start = wordBytes + length;
  const tensors = new Map<string, ArrayWithShape>();
  for (const [name, { dtype, shape, data_offsets }] of readHeader(
    await read(file, wordBytes, length),
    size - start,
  )) {
    const [begin, end] = data_offsets;
    const bytes = await read(file, start + begin, end - begin);
    tensors.set(name, { shape, data: elementsAt({ dtype, data_offsets: [0, end - begin] }, bytes) });
  }
  return tensors;
}

async function read(file: FileHandle, position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length;) {
    const most = Math.min(length - done, maxBytesPerRead);
    const { bytesRead } = await file.read(bytes, done, most, position + done);
    if (bytesRead === 0) throw new Error('it was truncated while it was read');
    done += bytesRead;
  }
  return bytes;
}
