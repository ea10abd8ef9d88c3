// Training from tar shards on S3, compared with training from memory: `npm run bench:shards -- [--model resnet18]
// [--images 20000] [--shards 20] [--rounds 5] [--steps 4] [--batch 64]`. Starts a local S3 server, writes PNG and JPEG
// files of 32 x 32 pixels to it, and launches 2 ranks with 2 worker threads each (shards-ranks.js).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../support.js';
import { startServer, writeShards } from './image-shards.js';

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'resnet18' },
    images: { type: 'string', default: '20000' },
    shards: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '5' },
    steps: { type: 'string', default: '4' },
    batch: { type: 'string', default: '64' },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'ringrun-shards-'));
const bucket = 'images';
const server = await startServer(folder, bucket);
try {
  Object.assign(process.env, server.environment);
  const start = performance.now();
  const pattern = await writeShards(`s3://${bucket}/small`, Number(options.images), Number(options.shards));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`wrote ${options.images} images in ${options.shards} shards in ${seconds} s: ${pattern}`);
  const { model, images, rounds, steps, batch } = options;
  const args = [
    'launch',
    '--nproc',
    '2',
    'bench/loading/shards-ranks.js',
    pattern,
    model,
    images,
    rounds,
    steps,
    batch,
  ];
  process.stdout.write(await run(process.execPath, args));
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
