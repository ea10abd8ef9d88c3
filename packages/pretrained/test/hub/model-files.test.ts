// Models in the cache of huggingface_hub, and downloads into it by @huggingface/hub from a server with the hub's API.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { cacheFolder } from '../../src/hub/cache.ts';
import { fromPretrained } from '../../src/index.ts';
import { goldenFolder } from '../support/golden.ts';
import { hubServer } from '../support/hub-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
const commit = '0123456789abcdef0123456789abcdef01234567';
const model = 'ringrun/small-resnet';

/** A cache as `hf download` writes it. */
function cacheWith(name: string, refs: readonly string[]): string {
  const cache = join(folder, name);
  const home = join(cache, 'models--ringrun--small-resnet');
  const snapshot = join(home, 'snapshots', commit);
  for (const path of [join(home, 'blobs'), join(home, 'refs', 'pr'), snapshot])
    mkdirSync(path, { recursive: true });
  for (const [number, file] of ['config.json', 'model.safetensors'].entries()) {
    copyFileSync(join(goldenFolder('resnet-basic'), file), join(home, 'blobs', `blob${number}`));
    symlinkSync(`../../blobs/blob${number}`, join(snapshot, file));
  }
  for (const ref of refs) writeFileSync(join(home, 'refs', ref), commit);
  return cache;
}

beforeEach(() => {
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  return () => vi.unstubAllEnvs();
});

describe('a model in the cache', () => {
  test('is found by the branch main, by other refs and by its commit', async () => {
    const cacheDir = cacheWith('refs', ['main', 'v1.0', 'pr/1']);
    for (const revision of [undefined, 'main', 'v1.0', 'pr/1', commit]) {
      const found = await fromPretrained(model, { cacheDir, ...(revision !== undefined && { revision }) });
      expect(found.constructor.name).toBe('ResNetForImageClassification');
    }
  });

  test('is found in the folder that the environment names', async () => {
    const cache = cacheWith('environment/hub', ['main']);
    vi.stubEnv('HF_HUB_CACHE', cache);
    expect((await fromPretrained(model)).training).toBe(false);
    vi.stubEnv('HF_HUB_CACHE', undefined);
    vi.stubEnv('HF_HOME', join(folder, 'environment'));
    expect((await fromPretrained(model)).training).toBe(false);
  });

  test('that is missing is an error with the command that downloads it', async () => {
    const cacheDir = cacheWith('other', ['main']);
    await expect(fromPretrained(model, { cacheDir, revision: 'v2' })).rejects.toThrow(
      /expected ringrun\/small-resnet \(revision v2\) in the cache .*Run hf download ringrun\/small-resnet --revision v2 where/,
    );
    vi.stubEnv('HF_HUB_OFFLINE', undefined);
    await expect(fromPretrained('ringrun/none', { cacheDir, localFilesOnly: true })).rejects.toMatchObject({
      code: 'ERR_PRETRAINED',
    });
  });

  test.each([['../secret'], ['a/b/c'], ['org/../x'], ['./missing-folder'], ['']])(
    'is not looked up by the name "%s"',
    async (name) => {
      await expect(fromPretrained(name)).rejects.toThrow('expected a folder, or a name such as');
    },
  );

  test('is not looked up by a revision that leaves the folder', async () => {
    await expect(fromPretrained(model, { revision: '../../x' })).rejects.toThrow(
      'revision: expected a branch, tag or commit, got ../../x.',
    );
  });
});

test('the cache is in the folders of huggingface_hub', () => {
  expect(cacheFolder({ HF_HUB_CACHE: '/a', HF_HOME: '/b' })).toBe('/a');
  expect(cacheFolder({ HF_HOME: '/b' })).toBe('/b/hub');
  expect(cacheFolder({ XDG_CACHE_HOME: '/c' })).toBe('/c/huggingface/hub');
  expect(cacheFolder({})).toMatch(/\/\.cache\/huggingface\/hub$/);
});

describe('a model of the hub', () => {
  test('is downloaded into one snapshot of the cache, where it is found offline', async () => {
    const names = ['config.json', 'model.safetensors'];
    const files = Object.fromEntries(
      names.map((name) => [name, readFileSync(join(goldenFolder('resnet-basic'), name))]),
    );
    const { url, requests } = await hubServer(model, commit, files);
    const cacheDir = join(folder, 'downloads');
    vi.stubEnv('HF_ENDPOINT', url);
    vi.stubEnv('HF_HUB_OFFLINE', undefined);
    vi.spyOn(console, 'debug').mockReturnValue();
    const first = await fromPretrained(model, { cacheDir });
    const snapshots = join(cacheDir, 'models--ringrun--small-resnet', 'snapshots');
    expect(readdirSync(snapshots)).toEqual([commit]);
    expect(readdirSync(join(snapshots, commit)).sort()).toEqual(names);
    expect(requests).toContain(`/${model}/resolve/${commit}/model.safetensors`);

    const before = requests.length;
    expect((await fromPretrained(model, { cacheDir })).stateDict()).toEqual(first.stateDict());
    vi.stubEnv('HF_HUB_OFFLINE', '1');
    expect((await fromPretrained(model, { cacheDir })).stateDict()).toEqual(first.stateDict());
    expect(requests.length).toBe(before);
  });

  test('without weights, or without a repository, is an error with advice', async () => {
    const config = readFileSync(join(goldenFolder('resnet-basic'), 'config.json'));
    const { url } = await hubServer(model, commit, { 'config.json': config });
    vi.stubEnv('HF_ENDPOINT', url);
    vi.stubEnv('HF_HUB_OFFLINE', undefined);
    vi.spyOn(console, 'debug').mockReturnValue();
    const cacheDir = join(folder, 'without');
    await expect(fromPretrained(model, { cacheDir })).rejects.toThrow(
      /expected model.safetensors or model.safetensors.index.json in ringrun\/small-resnet, got none/,
    );
    await expect(fromPretrained('ringrun/none', { cacheDir })).rejects.toThrow(
      /config.json of ringrun\/none was not downloaded: Repository not found\. .*Check the name/,
    );
  });
});
