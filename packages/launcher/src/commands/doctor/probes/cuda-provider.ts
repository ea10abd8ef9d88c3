// Runs the graph of `doubling` on the GPU by the `onnxruntime-node` that the program installed, and prints the result.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { doubling } from '../doubling.ts';

export type CudaProviderAnswer = { installed: false } | { installed: true; folder: string; version: string };

/** The part of onnxruntime's API used here. No package of ringrun depends on onnxruntime-node. */
interface Onnxruntime {
  InferenceSession: {
    create(model: Uint8Array, options: object): Promise<{ run(feeds: object): Promise<unknown> }>;
  };
  Tensor: new (type: 'float32', data: Float32Array, dims: number[]) => object;
}

// As in training: no telemetry.
process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
process.stdout.write(JSON.stringify(await tryIt()));

async function tryIt(): Promise<CudaProviderAnswer> {
  const places = [join(process.cwd(), 'package.json'), import.meta.url];
  const require = places.map((place) => createRequire(place)).find(hasOnnxruntime);
  if (!require) return { installed: false };
  const { InferenceSession, Tensor } = require('onnxruntime-node') as Onnxruntime;
  const session = await InferenceSession.create(doubling.model, {
    executionProviders: ['cuda'],
    logSeverityLevel: 3,
  });
  await session.run({ [doubling.input]: new Tensor('float32', Float32Array.from(doubling.values), [2]) });
  const manifest = require.resolve('onnxruntime-node/package.json');
  const { version } = require(manifest) as { version: string };
  return { installed: true, folder: join(manifest, '..'), version };
}

function hasOnnxruntime(require: NodeJS.Require): boolean {
  try {
    require.resolve('onnxruntime-node');
    return true;
  } catch {
    return false;
  }
}
