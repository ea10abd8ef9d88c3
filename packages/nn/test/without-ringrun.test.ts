// The published packages of @ringrun/nn and its dependencies, in a folder without `ringrun`.
import { cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { publicPackages, stagePackage, stagePlatform } from '../../../scripts/release/stage.js';
import { targetOfThisMachine } from '../../../scripts/release/targets.js';
import { repository } from '../../../test/support/environment.ts';
import { start } from '../../../test/support/start.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';

const folder = temporaryFolder();
const modules = join(folder, 'node_modules');

beforeAll(() => {
  const install = (name: string, staged: string) => {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    renameSync(staged, join(modules, name));
  };
  const needed = ['@ringrun/native', '@ringrun/core', '@ringrun/nn'];
  for (const one of publicPackages().filter(({ manifest }) => needed.includes(manifest.name)))
    install(one.manifest.name, stagePackage(one, join(folder, 'staged')));
  const target = targetOfThisMachine()!;
  const addon = join(repository, 'native/build/ringrun.node');
  install(target.packageName, stagePlatform(target, addon, join(folder, 'staged')));
  const require = createRequire(join(repository, 'packages/nn/package.json'));
  cpSync(dirname(require.resolve('pure-rand/package.json')), join(modules, 'pure-rand'), { recursive: true });
});

/** A network whose loss falls to a hundredth, with momentum and batch normalization. */
const training = `import { F, manualSeed, nn, optim, tensor } from '@ringrun/nn';
const found = await import('ringrun').then(() => 'found', (error) => error.code);
manualSeed(1);
const model = new nn.Sequential(new nn.Linear(2, 16), new nn.BatchNorm1d(16), new nn.Tanh(), new nn.Linear(16, 1));
const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
const x = tensor(Float32Array.of(0, 0, 0, 1, 1, 0, 1, 1), [4, 2]);
const exclusiveOr = tensor(Float32Array.of(0, 1, 1, 0), [4, 1]);
const losses = [];
for (let step = 0; step < 100; step++) {
  optimizer.zeroGrad();
  const loss = F.mseLoss(model.forward(x), exclusiveOr);
  await loss.backward();
  await optimizer.step();
  losses.push(await loss.item());
}
console.log(found, losses.at(-1) < losses[0] / 100);`;

test('@ringrun/nn trains in one process without ringrun installed', async () => {
  writeFileSync(join(folder, 'train.mjs'), training);
  // Without the cache of compiled addons.
  const env = { HOME: folder };
  const { stdout, stderr } = await start(process.execPath, ['train.mjs'], { cwd: folder, env }).ended;
  expect([stdout, stderr]).toEqual(['ERR_MODULE_NOT_FOUND true\n', '']);
});
