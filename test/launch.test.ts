import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import ts from 'typescript';
import { builtScript } from './support/built-script.ts';
import { launch, node } from './support/command.ts';
import type { Ended } from './support/command.ts';
import { repository } from './support/environment.ts';
import { freePort } from './support/free-port.ts';
import { start } from './support/start.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder, temporaryProject } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const folder = temporaryFolder();
const project = temporaryProject();
const endedWell = { code: 0, signal: null, stderr: '', timedOut: false, left: [] };

/** A cache with a few synthetic digits, so that train.ts does not generate its own. */
const cache = temporaryFolder();
mkdirSync(join(cache, 'ringrun'));
renameSync(syntheticMnist({ train: 6000, test: 500 }), join(cache, 'ringrun/synthetic-digits-1'));
const offline = { env: { XDG_CACHE_HOME: cache } };

/** Rank 0 of train.ts at the root prints one line, the accuracy. */
function expectTraining({ stdout, ...ended }: Ended): void {
  expect(withoutWaiting(ended)).toEqual(endedWell);
  const [, accuracy] = /^accuracy (\d\.\d{4}) on synthetic digits, not MNIST\n$/.exec(stdout) ?? [];
  // Guessing has an accuracy of 0.1.
  expect(Number(accuracy)).toBeGreaterThan(0.6);
}

test('node launch --nproc 2 train.ts trains in the root of the repository', async () => {
  expectTraining(await launch(['--nproc', '2', 'train.ts', '--synthetic'], offline).ended);
});

test('runs a TypeScript script in any folder, with imports of ringrun, @ringrun/nn and its own', async () => {
  mkdirSync(join(folder, 'models'));
  writeFileSync(
    join(folder, 'models/line.ts'),
    `import { nn, type Tensor } from '@ringrun/nn';
    export class Line extends nn.Module {
      readonly inner: nn.Linear = new nn.Linear(1, 1);
      forward(x: Tensor): Tensor { return this.inner.forward(x); }
    }`,
  );
  writeFileSync(
    join(folder, 'train.ts'),
    `import { optim, tensor } from '@ringrun/nn';
    import { DistributedDataParallel, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';
    import { Line } from './models/line.ts';
    await initProcessGroup();
    const model = new DistributedDataParallel(new Line());
    const optimizer = new optim.SGD(model.module.parameters(), { lr: 0.1 });
    // Rank 0 sees 3x + 1 left of zero, rank 1 right of it: neither finds the line alone.
    const x = [0.5, 1, 1.5, 2].map((value: number) => (getRank() === 0 ? -value : value));
    const y = x.map((value) => 3 * value + 1);
    for (let step = 0; step < 200; step += 1) {
      const difference = model.forward(tensor(Float32Array.from(x), [4, 1])).sub(tensor(Float32Array.from(y), [4, 1]));
      optimizer.zeroGrad();
      await difference.mul(difference).mean().backward();
      await optimizer.step();
    }
    const { weight, bias } = model.module.inner;
    if (getRank() === 1) console.log(process.argv.slice(2).join(' '), weight.data[0].toFixed(3), bias!.data[0].toFixed(3));
    await destroyProcessGroup();`,
  );
  const command = node([join(repository, 'launch'), '--nproc', '2', 'train.ts', '--name', 'line'], {
    cwd: folder,
  });
  expect(withoutWaiting(await command.ended)).toEqual({ ...endedWell, stdout: '--name line 3.000 1.000\n' });
});

test('the package binary ringrun is the same command', async () => {
  const binary = join(repository, 'node_modules/.bin/ringrun');
  expect(existsSync(binary), `${binary}, which pnpm install makes`).toBe(true);
  const { stdout, ...ended } = await start(binary, ['--nproc-per-node', '2', builtScript('fixtures/join')])
    .ended;
  expect(withoutWaiting(ended)).toEqual(endedWell);
  expect(stdout.split('\n').sort()).toEqual(['', 'rank 0 of 2: sum 3', 'rank 1 of 2: sum 3']);
});

test('compiled JavaScript runs under plain node, alone and as two ranks set by the environment', async () => {
  const script = join(project, 'train.mjs');
  const source = readFileSync(join(repository, 'train.ts'), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  writeFileSync(script, outputText);
  expectTraining(await node([script, '--synthetic'], offline).ended);

  const env = { ...offline.env, WORLD_SIZE: 2, MASTER_ADDR: '127.0.0.1', MASTER_PORT: await freePort() };
  const [zero, one] = [0, 1].map((rank) => node([script, '--synthetic'], { env: { ...env, RANK: rank } }));
  expectTraining(await zero.ended);
  expect(withoutWaiting(await one.ended)).toEqual({ ...endedWell, stdout: '' });
});
