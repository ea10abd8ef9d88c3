import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { DownloadError } from '../../../../src/data/datasets/download.ts';
import { InvalidDataError } from '../../../../src/data/datasets/invalid-data-error.ts';
import { allMnistFiles } from '../../../../src/data/datasets/mnist/files.ts';
import { loadMnist } from '../../../../src/data/datasets/mnist/load-mnist.ts';
import { prepareMnist } from '../../../../src/data/datasets/mnist/prepare-mnist.ts';
import type { PrepareOptions, PreparedData } from '../../../../src/data/datasets/prepare.ts';
import { deadMirror, startMirror } from '../../../support/mirror.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const realMnist = fileURLToPath(new URL('../../../../../../../shared/data/mnist', import.meta.url));
const hasRealMnist = existsSync(realMnist);

interface Prepared extends PreparedData {
  /** Output of the download. */
  printed: string;
}

async function prepare(cache: string, mirrors: string, options: PrepareOptions = {}): Promise<Prepared> {
  const output = new PassThrough({ encoding: 'utf8' });
  const environment = { XDG_CACHE_HOME: cache, RINGRUN_MNIST_MIRRORS: mirrors };
  const source = await prepareMnist({ output, environment, ...options });
  return { ...source, printed: (output.read() as string | null) ?? '' };
}

describe('a folder passed as location', () => {
  const complete = () => {
    const folder = temporaryFolder();
    for (const { name } of allMnistFiles) writeFileSync(join(folder, `${name}.gz`), '');
    return folder;
  };

  test('is used without a download', async () => {
    const location = complete();
    expect(await prepareMnist({ location })).toEqual({ location, kind: 'given', title: location });
  });

  test.each([
    [
      'does not exist',
      () => join(temporaryFolder(), 'nothing'),
      'it has no train-images-idx3-ubyte, no train-labels',
    ],
    ['is empty', temporaryFolder, 'it has no train-images-idx3-ubyte, no train-labels'],
    ['is a file', () => join(complete(), allMnistFiles[0].name + '.gz'), 'it has no train-images-idx3-ubyte'],
  ])('is rejected if it %s', async (_, folder, problem) => {
    const location = folder();
    await expect(prepareMnist({ location })).rejects.toThrow(InvalidDataError);
    await expect(prepareMnist({ location })).rejects.toThrow(`${location}: ${problem}`);
    await expect(prepareMnist({ location })).rejects.toThrow(
      "Pass --data with a folder or s3://bucket/prefix that has MNIST's four files",
    );
  });
});

// Synthetic digits are tested in test/prepare-data.test.ts, because generating them takes seconds.

test('without a network, the error names the mirrors, --data and --synthetic', async () => {
  const dead = await deadMirror();
  const prepared = prepare(temporaryFolder(), dead);
  await expect(prepared).rejects.toThrow(DownloadError);
  await expect(prepared).rejects.toThrow(
    `MNIST could not be downloaded: ${dead}train-images-idx3-ubyte.gz: connect`,
  );
  await expect(prepared).rejects.toThrow(
    /Pass a folder .* \(--data, `location`\), or train on synthetic digits .*\(--synthetic/,
  );
});

test('rejects a location together with synthetic data', async () => {
  const prepared = prepareMnist({ location: temporaryFolder(), synthetic: true });
  await expect(prepared).rejects.toThrow(/MNIST: got the location .* and synthetic: true .*Choose one/);
});

test.each(['ftp://host/', 'host/mnist', 'http://'])('rejects the mirror %s', async (mirror) => {
  const prepared = prepare(temporaryFolder(), `http://127.0.0.1:9/,${mirror}`);
  await expect(prepared).rejects.toThrow(`RINGRUN_MNIST_MIRRORS: '${mirror}' is not an http or https URL`);
});

test('an unwritable cache throws an error with a remedy', async () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  const prepared = prepare(file, '');
  await expect(prepared).rejects.toThrow(
    `${join(file, 'ringrun', 'mnist')}: the cache cannot be written (writing`,
  );
  await expect(prepared).rejects.toThrow('Set XDG_CACHE_HOME');
});

describe.skipIf(!hasRealMnist)(`the real files${hasRealMnist ? '' : `: skipped, no ${realMnist}`}`, () => {
  const serve = () =>
    startMirror(({ url }, response) => {
      response.end(readFileSync(join(realMnist, url!.replace('/mnist/', ''))));
    });

  test('are downloaded once', async () => {
    const cache = temporaryFolder();
    const mirror = await serve();
    const dead = await deadMirror();
    const source = await prepare(cache, `${dead}, ${mirror.url}`);
    expect(source.kind).toBe('downloaded');
    expect(source.location).toBe(join(cache, 'ringrun', 'mnist'));
    expect(source.printed).toContain(
      `MNIST: downloading ${mirror.url}train-images-idx3-ubyte.gz (9.63 MB)\n`,
    );
    expect(readdirSync(source.location).sort()).toEqual(allMnistFiles.map(({ name }) => `${name}.gz`).sort());
    expect((await loadMnist({ split: 'test', location: source.location })).at(0).label).toBe(7n);
    expect(mirror.requests).toHaveLength(4);

    expect(await prepare(cache, mirror.url)).toMatchObject({ kind: 'downloaded', printed: '' });
    expect(mirror.requests).toHaveLength(4);
  });

  test('are completed if some exist', async () => {
    const cache = temporaryFolder();
    const folder = join(cache, 'ringrun', 'mnist');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'train-images-idx3-ubyte.gz'), 'as it was');
    const mirror = await serve();
    expect((await prepare(cache, mirror.url)).kind).toBe('downloaded');
    expect(mirror.requests).toHaveLength(3);
    expect(readFileSync(join(folder, 'train-images-idx3-ubyte.gz'), 'utf8')).toBe('as it was');
  });
});
