// PNG and JPEG files of 32 x 32 pixels in tar shards of WebDataset's format, and a local S3 server that holds them.
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { openStorage } from '../../packages/runtime/dist/storage/index.js';
import { root } from '../support.js';

// Resolves development dependencies from the package ringrun.
const require = createRequire(join(root, 'packages/runtime/package.json'));
const side = 32;
const block = 512;

/** Starts an S3-compatible server in a separate process. Its objects are in `folder`. */
export async function startServer(folder, bucket) {
  const script = join(root, 'packages/runtime/test/dist/fixtures/s3-server.js');
  const child = spawn(process.execPath, [script, folder, bucket], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  const environment = {
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${Number(String(port))}`,
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  const stop = async () => {
    child.kill();
    await once(child, 'exit');
  };
  return { environment, stop };
}

/**
 * Writes `count` images, PNG and JPEG in turn, as `shards` objects of about equal size. Image `i` has the class `i`, so
 * that an epoch can be checked. Returns the pattern of the objects' URLs.
 */
export async function writeShards(location, count, shards) {
  const storage = openStorage(location);
  const digits = String(shards - 1).length;
  const name = (shard) => `train-${String(shard).padStart(digits, '0')}.tar`;
  for (let shard = 0; shard < shards; shard += 1) {
    const first = Math.floor((shard * count) / shards);
    const end = Math.floor(((shard + 1) * count) / shards);
    const files = await Promise.all(Array.from({ length: end - first }, (_, i) => filesOf(first + i)));
    await storage.write(name(shard), Buffer.concat([...files.flat(), Buffer.alloc(2 * block)]));
  }
  return `${location}/train-{${'0'.repeat(digits)}..${shards - 1}}.tar`;
}

async function filesOf(number) {
  const sharp = require('sharp');
  const format = number % 2 === 0 ? 'png' : 'jpeg';
  const image = sharp(pixelsOf(number), { raw: { width: side, height: side, channels: 3 } });
  const key = String(number).padStart(7, '0');
  return [
    ...memberOf(`${key}.${format}`, await image.toFormat(format).toBuffer()),
    ...memberOf(`${key}.cls`, Buffer.from(String(number))),
  ];
}

/** Smooth colours and noise, so that files have the size of photos of 32 x 32. */
function pixelsOf(number) {
  const pixels = Buffer.alloc(side * side * 3);
  for (let i = 0; i < pixels.length; i += 1) {
    const noise = (Math.imul(i + 7919 * number, 2654435761) >>> 27) - 16;
    pixels[i] = 128 + 90 * Math.sin(number + i / 97) + noise;
  }
  return pixels;
}

function memberOf(path, bytes) {
  const { Header } = require('tar');
  const head = Buffer.alloc(block);
  new Header({ path, type: 'File', size: bytes.length, mode: 0o644, mtime: new Date(0) }).encode(head);
  return [head, bytes, Buffer.alloc((block - (bytes.length % block)) % block)];
}
