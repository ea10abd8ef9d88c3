import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import {
  Checkpointer,
  FileStore,
  ShardDataset,
  SummaryWriter,
  TextDataset,
  TokenDataset,
  loadCifar10,
  loadImageFolder,
  loadMnist,
  loadObjects,
  loadSafetensors,
  openStorage,
  prepareMnist,
  profile,
} from '../../dist/index.js';
// Imports the build, because the thread that writes checkpoints may not run TypeScript.
import { encodeSafetensors } from '../../src/checkpoint/safetensors.ts';
import { folder as tfjsFolder } from '../../../tfjs/src/folder.ts';
import { syntheticMnist } from '../../../../test/support/synthetic-mnist.ts';
import { syntheticCifar10 } from '../../../../test/support/synthetic-cifar10.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../support/plain-workers.ts');
  return await plainWorkers(original);
});

/**
 * Every function with an option that names a file or a folder, and what it reads at `at` in a folder that contains all
 * of them.
 */
const uses: Readonly<
  Record<string, { at: string; use: (location: string | URL) => unknown; found: unknown }>
> = {
  openStorage: {
    at: 'objects',
    use: (location) => openStorage(location).list(),
    found: [{ name: 'a', bytes: 3 }],
  },
  loadObjects: { at: 'objects', use: async (location) => (await loadObjects(location)).names, found: ['a'] },
  loadImageFolder: {
    at: 'photos',
    use: async (location) => (await loadImageFolder(location)).classes,
    found: ['cat'],
  },
  TextDataset: { at: 'lines.txt', use: (path) => new TextDataset(path).length, found: 2 },
  TokenDataset: {
    at: 'lines.txt',
    use: (path) => new TokenDataset(path, { blockSize: 1, dtype: 'uint8' }).length,
    found: 3,
  },
  ShardDataset: { at: 'a.tar', use: (path) => new ShardDataset(path).shards.length, found: 1 },
  loadSafetensors: {
    at: 'model.safetensors',
    use: async (path) => [...(await loadSafetensors(path)).keys()],
    found: ['weight'],
  },
  SummaryWriter: {
    at: 'runs',
    use: async (logDir) => {
      const writer = new SummaryWriter({ logDir });
      await writer.close();
      return writer.failure;
    },
    found: undefined,
  },
  profile: {
    at: 'trace.json',
    use: async (path) => {
      const profiler = await profile({ path });
      await profiler.stop();
    },
    found: undefined,
  },
  'FileStore.open': {
    at: 'store',
    use: async (path) => {
      const store = await FileStore.open(path);
      await store.set('key', 'value');
      await store.close();
      return Buffer.from('value').toString();
    },
    found: 'value',
  },
  Checkpointer: {
    at: 'checkpoints',
    use: async (dir) => {
      const checkpoints = new Checkpointer({ dir });
      await checkpoints.save({ step: 7 });
      await checkpoints.finished();
      return (await checkpoints.resume(dir))?.step;
    },
    found: 7,
  },
  folder: {
    at: 'tfjs',
    use: async (location) => (await tfjsFolder(location).save({})).modelArtifactsInfo.modelTopologyType,
    found: 'JSON',
  },
  loadMnist: {
    at: 'mnist',
    use: async (location) => (await loadMnist({ split: 'test', location })).length,
    found: 2,
  },
  prepareMnist: {
    at: 'mnist',
    use: async (location) => (await prepareMnist({ location })).kind,
    found: 'given',
  },
  loadCifar10: {
    at: 'cifar10',
    use: async (location) => (await loadCifar10({ split: 'test', location })).length,
    found: 2,
  },
};

/** A folder with a space in its name, so that its URL is not its path. */
function filled(): string {
  const folder = join(temporaryFolder(), 'a folder');
  for (const name of ['objects', 'photos/cat']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'objects/a'), 'abc');
  writeFileSync(join(folder, 'photos/cat/1.png'), '');
  writeFileSync(join(folder, 'lines.txt'), 'a\nb\n');
  writeFileSync(
    join(folder, 'model.safetensors'),
    encodeSafetensors(new Map([['weight', { shape: [1], data: new Float32Array(1) }]])),
  );
  symlinkSync(syntheticMnist({ train: 1, test: 2 }), join(folder, 'mnist'));
  symlinkSync(syntheticCifar10({ train: 5, test: 2 }), join(folder, 'cifar10'));
  return folder;
}

describe.each(Object.entries(uses))('%s', (_, { at, use, found }) => {
  test('accepts a path, the file: URL as a string, and a URL', async () => {
    for (const given of [(path: string) => path, (path: string) => pathToFileURL(path).href, pathToFileURL]) {
      expect(await use(given(join(filled(), at)))).toEqual(found);
    }
  });

  test('refuses other URLs, an empty string and other values', async () => {
    for (const wrong of [new URL('https://example.org/a'), 'ftp://host/a', '', 7]) {
      const attempt = async () => await use(wrong as string);
      await expect(attempt(), String(wrong)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    }
  });
});
