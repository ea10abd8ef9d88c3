import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { loadSafetensors } from '../../src/checkpoint/load-safetensors.ts';
import { encodeSafetensors } from '../../src/checkpoint/safetensors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const tensor = (...values: number[]) => ({ shape: [values.length], data: Float32Array.from(values) });

function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporaryFolder();
  for (const [name, contents] of Object.entries(files)) writeFileSync(join(folder, name), contents);
  return folder;
}

describe('a model in several files', () => {
  const shards = {
    'model-00001-of-00002.safetensors': encodeSafetensors(
      new Map([
        ['a', tensor(1)],
        ['b', tensor(2, 3)],
      ]),
    ),
    'model-00002-of-00002.safetensors': encodeSafetensors(new Map([['c', tensor(4)]])),
  };
  const [first, second] = Object.keys(shards);
  const index = (weight_map: unknown) => JSON.stringify({ metadata: { total_size: 16 }, weight_map });

  test('is loaded from its index, by path or URL', async () => {
    const folder = folderOf({
      ...shards,
      'model.safetensors.index.json': index({ b: first, a: first, c: second }),
    });
    const path = join(folder, 'model.safetensors.index.json');
    for (const given of [path, pathToFileURL(path)]) {
      const found = await loadSafetensors(given);
      expect(Object.fromEntries(found)).toEqual({ a: tensor(1), b: tensor(2, 3), c: tensor(4) });
    }
  });

  test.each([
    ['an index without a map', '{"weight": 1}', 'ERR_CHECKPOINT_DAMAGED', 'it is JSON without a weight_map'],
    ['an index that is not JSON', '{"weight', 'ERR_CHECKPOINT_DAMAGED', 'it is JSON without a weight_map'],
    [
      'a file of another folder',
      index({ a: '../model.safetensors' }),
      'ERR_CHECKPOINT_DAMAGED',
      'weight_map has "../model.safetensors" for a',
    ],
    ['no file name', index({ a: 7 }), 'ERR_CHECKPOINT_DAMAGED', 'weight_map has 7 for a'],
    [
      'a tensor that its file lacks',
      index({ a: first, z: second }),
      'ERR_CHECKPOINT_DAMAGED',
      `${second} was not loaded: expected a safetensors file, but it lacks z, which`,
    ],
    [
      'a missing file',
      index({ a: 'model-3.safetensors' }),
      'ERR_CHECKPOINT_NOT_FOUND',
      'model-3.safetensors was not loaded: ENOENT',
    ],
  ])('is refused for %s', async (_, json, code, message) => {
    const folder = folderOf({ ...shards, 'index.json': json });
    const loading = loadSafetensors(join(folder, 'index.json'));
    await expect(loading).rejects.toMatchObject({ code });
    await expect(loading).rejects.toThrow(message);
  });
});

describe('an error names the actual format of the file:', () => {
  test.each([
    [
      'a pointer of Git LFS',
      'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n',
      'it is a pointer of Git LFS: the file itself was not downloaded. Run "git lfs install" and "git lfs pull"',
    ],
    [
      'a file of torch.save',
      Buffer.concat([Buffer.from('PK\x03\x04\0\0\x08\x08', 'latin1'), deflateRawSync('data')]),
      'it is a zip archive, as torch.save writes. Convert a state dict of PyTorch with safetensors.torch.save_file(torch.load(file)',
    ],
    [
      'an old file of torch.save',
      Buffer.from('\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M', 'latin1'),
      'it is a pickle, as torch.save of old versions writes',
    ],
    ['a GGUF model', 'GGUF\x03\0\0\0\0\0\0\0', 'it is a GGUF model'],
    [
      'a web page',
      '<!DOCTYPE html><html>404</html>',
      'it is a web page or XML, such as the answer of a server that refused',
    ],
    ['a gzipped file', gzipSync('tensors'), 'it is compressed by gzip. Decompress it with gunzip'],
    ['an index without .json', '{"weight_map": {}}', 'it is JSON. Pass the file that it describes'],
  ])('%s', async (_, contents, message) => {
    const path = join(folderOf({ 'model.bin': contents }), 'model.bin');
    const loading = loadSafetensors(path);
    await expect(loading).rejects.toThrow(
      `loadSafetensors: ${path} was not loaded: expected a safetensors file, but ${message}`,
    );
    await expect(loading).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_DAMAGED' });
  });

  test.each([
    [
      'F8_E4M3',
      'weight has the dtype F8_E4M3, a float of 8 bits, which ringrun does not read: save it as bfloat16',
    ],
    ['F8_E5M2', 'weight has the dtype F8_E5M2, a float of 8 bits'],
    ['F8_E8M0', 'weight has the dtype F8_E8M0, a float of 8 bits'],
    ['C64', 'weight has the dtype C64, which ringrun does not read, but F64, F32, F16, BF16'],
  ])('tensors of %s', async (dtype, message) => {
    const header = Buffer.from(JSON.stringify({ weight: { dtype, shape: [2], data_offsets: [0, 2] } }));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const folder = folderOf({ 'a.safetensors': Buffer.concat([length, header, Buffer.alloc(2)]) });
    await expect(loadSafetensors(join(folder, 'a.safetensors'))).rejects.toThrow(message);
  });

  test('a folder, and a damaged file whose length looks like another format', async () => {
    const folder = folderOf({ damaged: Buffer.from('<\0\0\0\0\0\0\0{', 'latin1') });
    await expect(loadSafetensors(folder)).rejects.toThrow(`${folder} was not loaded: it is a folder (EISDIR`);
    await expect(loadSafetensors(join(folder, 'damaged'))).rejects.toThrow('but it has 9 bytes, expected 10');
  });
});
