// Runs the graph of `doubling` on the library of onnxruntime that training uses, and prints the result.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findOnnxruntime, loadNative } from '@ringrun/native';
import { doubling } from '../doubling.ts';

export type OnnxruntimeAnswer =
  /** `isMissing`: no library was found; collectives do not need one. */
  | { usable: false; problem: string; fix: string; isMissing: boolean }
  | { usable: true; path: string; version: string; doubled: number[]; milliseconds: number };

process.stdout.write(JSON.stringify(await tryIt()));

async function tryIt(): Promise<OnnxruntimeAnswer> {
  const startedAt = performance.now();
  const { OnnxBinding, OnnxSession } = loadNative();
  const library = findOnnxruntime(pathToFileURL(join(process.cwd(), 'package.json')).href);
  if ('problem' in library) {
    const { problem, fix, isInstalled } = library;
    return { usable: false, problem, fix, isMissing: !isInstalled };
  }
  const float32 = { elementType: 1, elementBytes: 4, shape: [2] };
  const session = new OnnxSession(
    library.path,
    [{ name: doubling.input, ...float32 }],
    [{ name: doubling.output, ...float32 }],
    { intraOpThreads: 1, computeNice: 0, optimizes: true, entries: {} },
  );
  try {
    await session.compile(doubling.model);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'LIBRARY')) throw error;
    return { usable: false, problem: error.message, fix: library.fix, isMissing: false };
  }
  const doubled = new Float32Array(2);
  await new OnnxBinding(session, [Float32Array.from(doubling.values)], [doubled]).run();
  return {
    usable: true,
    path: library.path,
    version: session.libraryVersion(),
    doubled: [...doubled],
    milliseconds: performance.now() - startedAt,
  };
}
