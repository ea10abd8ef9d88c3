import { open, type FileHandle } from 'node:fs/promises';
import { CheckpointError, type CheckpointProblem } from './checkpoint-error.ts';
import { elementsAt, headerLength, readHeader, wordBytes, type ArrayWithShape } from './safetensors.ts';

/** Maximum bytes per read; Node rejects reads of 2 GiB. */
const mostBytesPerRead = 2 ** 30;

/**
 * Loads a safetensors file, for example one written by `safetensors.torch.save_file(model.state_dict(),
 * path)`:
 *
 * ```ts
 * model.loadStateDict(await loadSafetensors('resnet18.safetensors'));
 * ```
 *
 * Each tensor has its own memory. Sizes and offsets are checked against the file before memory is allocated.
 *
 * @param path path of a local file
 * @returns tensors by name, in file order; float16 and bfloat16 as `Float16Bits` and `BFloat16Bits`, booleans
 * as bytes 0 and 1
 * @throws CheckpointError `ERR_CHECKPOINT_NOT_FOUND`; `ERR_CHECKPOINT_NOT_READ` with the file system's
 * reason; `ERR_CHECKPOINT_DAMAGED` if the file is not valid safetensors
 */
export async function loadSafetensors(path: string | URL): Promise<Map<string, ArrayWithShape>> {
  const file = await opened(path);
  try {
    return await tensorsOf(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw failed(path, 'not read', error as Error);
    throw failed(path, 'damaged', error as Error);
  } finally {
    await file.close();
  }
}

async function opened(path: string | URL): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw failed(path, code === 'ENOENT' ? 'not found' : 'not read', error as Error);
  }
}

function failed(path: string | URL, problem: CheckpointProblem, cause: Error): CheckpointError {
  const reason = problem === 'damaged' ? `expected a safetensors file, but ${cause.message}` : cause.message;
  return new CheckpointError(problem, `loadSafetensors: ${String(path)} was not loaded: ${reason}.`, {
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
    const most = Math.min(length - done, mostBytesPerRead);
    const { bytesRead } = await file.read(bytes, done, most, position + done);
    if (bytesRead === 0) throw new Error('it was truncated while it was read');
    done += bytesRead;
  }
  return bytes;
}
