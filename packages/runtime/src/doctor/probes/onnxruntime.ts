// Runs a graph of one node on onnxruntime, and prints the result. Argument: the provider, `cpu` or `cuda`.
import { createRequire } from 'node:module';
import { join } from 'node:path';

export type OnnxruntimeAnswer =
  | { installed: false; lookedFrom: string[] }
  | { installed: true; folder: string; version: string; doubled: number[]; milliseconds: number };

/**
 * y = x + x over two float32: a ModelProto of IR version 9 with opset 20 and one Add (onnx.proto3).
 */
const doubling =
  'CAkSB3JpbmdydW46OwoOCgF4CgF4EgF5IgNBZGQSB3JpbmdydW5aDwoBeBIKCggIARIECgIIAmIPCgF5EgoKCAgBEgQKAggCQgIQFA==';

/** The part of onnxruntime's API used here. This package does not depend on onnxruntime, `@ringrun/nn` does. */
interface Onnxruntime {
  InferenceSession: {
    create(
      model: Uint8Array,
      options: object,
    ): Promise<{ run(feeds: object): Promise<Record<string, { data: Float32Array }>> }>;
  };
  Tensor: new (type: 'float32', data: Float32Array, dims: number[]) => object;
}

// As in @ringrun/nn: no telemetry.
process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
process.stdout.write(JSON.stringify(await tryIt(process.argv[2])));

async function tryIt(provider: string): Promise<OnnxruntimeAnswer> {
  const startedAt = performance.now();
  const places = [join(process.cwd(), 'package.json'), import.meta.url];
  const require = places.map(requireWithOnnxruntime).find((found) => found !== undefined);
  if (!require)
    return { installed: false, lookedFrom: [process.cwd(), new URL('.', import.meta.url).pathname] };
  const { InferenceSession, Tensor } = require('onnxruntime-node') as Onnxruntime;
  const session = await InferenceSession.create(Buffer.from(doubling, 'base64'), {
    executionProviders: [provider],
    logSeverityLevel: 3,
  });
  const { y } = await session.run({ x: new Tensor('float32', Float32Array.of(1, -2), [2]) });
  const manifest = require.resolve('onnxruntime-node/package.json');
  return {
    installed: true,
    folder: join(manifest, '..'),
    version: (require(manifest) as { version: string }).version,
    doubled: [...y.data],
    milliseconds: performance.now() - startedAt,
  };
}

/**
 * Looks from `place`, then from its `@ringrun/nn`: package managers may hide a package's dependencies from other
 * packages.
 */
function requireWithOnnxruntime(place: string): NodeJS.Require | undefined {
  const own = createRequire(place);
  if (canResolve(own, 'onnxruntime-node')) return own;
  const nn = canResolve(own, '@ringrun/nn');
  const its = nn === undefined ? undefined : createRequire(nn);
  return its && canResolve(its, 'onnxruntime-node') !== undefined ? its : undefined;
}

function canResolve(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}
