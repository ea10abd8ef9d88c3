// The published packages. The short form checks the folders that npm would pack. `npm run test:packages` packs them,
// installs them with npm into an empty folder, and uses them there with every supported Node.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { isSupported, onnxruntimeVersion } from '../native/lib/onnxruntime.ts';
import { problemsOf } from '../scripts/release/check.js';
import { installInto } from '../scripts/release/install.js';
import { pinned } from '../scripts/release/onnxruntime.js';
import { pack } from '../scripts/release/pack.js';
import { publicPackages, stagePackage, stagePlatform } from '../scripts/release/stage.js';
import { targetOfThisMachine } from '../scripts/release/targets.js';
import { pinnedZeromq } from '../scripts/release/zeromq.js';
import { repository } from './support/environment.ts';
import { start } from './support/start.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const folder = temporaryFolder();

describe('packed packages', () => {
  const names = [
    '@ringrun/native',
    '@ringrun/core',
    '@ringrun/collectives',
    '@ringrun/rendezvous',
    '@ringrun/launcher',
    '@ringrun/nn',
    'ringrun',
    '@ringrun/pretrained',
    '@ringrun/tfjs',
    '@ringrun/train',
  ];
  const staged = publicPackages().map((one) => stagePackage(one, join(folder, 'staged')));
  const target = targetOfThisMachine()!;
  const platform = stagePlatform(
    target,
    join(repository, 'native/build/ringrun.node'),
    join(folder, 'staged'),
  );

  test('are complete, and each follows its dependencies', () => {
    expect(publicPackages().map(({ manifest }) => manifest.name)).toEqual(names);
    expect(problemsOf([...staged, platform], { isChecked: () => false })).toEqual([]);
  });

  test('contain the pages that their users need, with links that lead to a file or to the repository', () => {
    const pagesIn = (name: string) => {
      const folder = join(staged[names.indexOf(name)], 'docs');
      return existsSync(folder) ? readdirSync(folder) : [];
    };
    expect(pagesIn('ringrun')).toEqual(
      expect.arrayContaining(['ddp.md', 'errors.md', 'getting-started.md', 'recipes.md', 'watching.md']),
    );
    expect(pagesIn('ringrun')).not.toContain('wire-format.md');
    expect(pagesIn('@ringrun/nn')).toEqual(expect.arrayContaining(['from-pytorch.md', 'recipes.md']));
    expect(pagesIn('@ringrun/tfjs')).toEqual(['tfjs.md']);
    expect(pagesIn('@ringrun/train')).toEqual(['training.md']);
    expect(pagesIn('@ringrun/pretrained')).toEqual(['pretrained.md']);
    const page = (name: string, path: string) =>
      readFileSync(join(staged[names.indexOf(name)], path), 'utf8');
    expect(page('ringrun', 'docs/from-pytorch.md')).toContain('](checkpoints.md)');
    expect(page('@ringrun/nn', 'docs/from-pytorch.md')).toContain(
      '](https://github.com/ringrun/ringrun/blob/main/docs/checkpoints.md)',
    );
    // Comments are for the tests of the pages.
    for (const name of names) expect(page(name, 'README.md')).not.toContain('<!--');
    expect(page('ringrun', 'README.md')).toContain('/blob/main/docs/getting-started.md)');
  });

  test('npm packs the pages', () => {
    const { status, stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: staged[names.indexOf('@ringrun/tfjs')],
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(stdout).toContain('"docs/tfjs.md"');
    expect(stdout).toContain('"README.md"');
  });

  const manifest = (path: string) =>
    JSON.parse(readFileSync(join(repository, path), 'utf8')) as Record<string, Record<string, string>>;

  test('have one version of zeromq: the pinned one', () => {
    expect([
      manifest('package.json')['dependencies']['zeromq'],
      manifest('packages/runtime/package.json')['devDependencies']['zeromq'],
    ]).toEqual([pinnedZeromq.version, pinnedZeromq.version]);
  });

  test('have one version of onnxruntime: the pinned one', () => {
    expect([onnxruntimeVersion, manifest('package.json')['dependencies']['onnxruntime-node']]).toEqual([
      pinned.version,
      pinned.version,
    ]);
    // The oldest that ringrun was tested with.
    expect(manifest('packages/nn/package.json')['peerDependencies']['onnxruntime-node']).toBe('>=1.20.0 <2');
    expect(
      ['1.19.2', '1.20.0', '1.24.0-dev.20260114-c343143a49', pinned.version, '2.0.0'].map(isSupported),
    ).toEqual([false, true, true, true, false]);
  });

  test('the check finds a missing file, a wrong licence, another version and a missing type', () => {
    const [native, collectives, launcher, runtime, nn] = [
      '@ringrun/native',
      '@ringrun/collectives',
      '@ringrun/launcher',
      'ringrun',
      '@ringrun/nn',
    ].map((name) => staged[names.indexOf(name)]) as [string, string, string, string, string];
    const change = (of: string, text: string, by: string) => {
      const path = join(of, 'package.json');
      const before = readFileSync(path, 'utf8');
      expect(before).toContain(text);
      writeFileSync(path, before.replaceAll(text, by));
    };
    rmSync(join(native, 'once.js'));
    rmSync(join(platform, 'onnxruntime'), { recursive: true });
    writeFileSync(join(platform, 'libonnxruntime.so.1'), 'another');
    writeFileSync(join(platform, 'zeromq/addon.node'), 'another');
    writeFileSync(join(collectives, 'dist/more.js'), "import { parse } from 'yaml';\n");
    writeFileSync(join(collectives, 'dist/index.js.map'), '');
    change(collectives, '"Apache-2.0"', '"MIT"');
    rmSync(join(launcher, 'dist/dashboard/page/client/main.js'));
    rmSync(join(runtime, 'dist/report/index.d.ts'));
    rmSync(join(nn, 'docs/recipes.md'));
    change(nn, '"version": "0.1.0"', '"version": "0.1.1"');
    writeFileSync(join(native, 'leftover.test.js'), '');
    expect(problemsOf([...staged, platform], { isChecked: () => false })).toEqual([
      '@ringrun/nn is 0.1.1, @ringrun/native 0.1.0',
      '@ringrun/pretrained needs @ringrun/nn 0.1.0, the release has 0.1.1',
      '@ringrun/train needs @ringrun/nn 0.1.0, the release has 0.1.1',
      '@ringrun/native: once.js is missing',
      '@ringrun/native: leftover.test.js must not be published',
      '@ringrun/collectives: the licence is MIT, expected Apache-2.0',
      '@ringrun/collectives: dist/index.js.map must not be published',
      '@ringrun/collectives: dist/more.js imports yaml, which is not a dependency',
      '@ringrun/launcher: dist/dashboard/page/assets.js opens dist/dashboard/page/client/main.js, which is missing',
      '@ringrun/nn: docs/from-pytorch.md links to docs/recipes.md, which is missing',
      '@ringrun/nn: docs/recipes.md is missing',
      'ringrun: dist/index.d.ts imports dist/report/index.d.ts, which is missing',
      `${target.packageName}: onnxruntime is missing`,
      expect.stringMatching(/: libonnxruntime\.so\.1 has the SHA-256 \w{64}, expected \w{64}$/) as string,
      expect.stringMatching(/: zeromq\/addon\.node has the SHA-256 \w{64}, expected \w{64}$/) as string,
    ]);
  });
});

const isAsked = process.env['RINGRUN_PACKAGES'] !== undefined;
const title = `packages installed with npm into an empty folder${isAsked ? '' : ': skipped, npm run test:packages'}`;

describe.runIf(isAsked)(title, () => {
  const project = temporaryFolder();
  /** No compiler. */
  const env = { HOME: project, PATH: join(project, 'nothing') };
  /** For the tests of types. */
  const others = { typescript: '~6.0.3', '@types/node': '20.19.43' };
  const names = '{ allReduce, destroyProcessGroup, getRank, initProcessGroup }';
  const body = `
    await initProcessGroup();
    const values = new Float32Array([getRank() + 1, 10]);
    await allReduce(values);
    if (getRank() === 0) console.log(process.version, ...values, await isOneRingrun());
    await destroyProcessGroup();`;
  /** A CNN on images of MNIST's size; its loss falls, and both ranks end with the same parameters. */
  const training = `import { createHash } from 'node:crypto';
import { F, manualSeed, nn, optim, tensor } from '@ringrun/nn';
import { DistributedDataParallel, allGatherObject, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';
await initProcessGroup();
manualSeed(1);
const layers = [new nn.Conv2d(1, 8, 3), new nn.ReLU(), new nn.MaxPool2d(2), new nn.Flatten(), new nn.Linear(8 * 13 * 13, 10)];
const model = new DistributedDataParallel(new nn.Sequential(...layers));
const optimizer = new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9 });
// An image of class k is bright in its k-th tenth.
const brightness = (i) => (Math.floor(i / 784) % 10 === Math.floor((i % 784) / 79) ? 1 : getRank() / 10);
const images = Float32Array.from({ length: 64 * 784 }, (_, i) => brightness(i));
const classes = BigInt64Array.from({ length: 64 }, (_, i) => BigInt(i % 10));
const losses = [];
for (let step = 0; step < 30; step += 1) {
  optimizer.zeroGrad();
  const loss = F.crossEntropy(model.forward(tensor(images, [64, 1, 28, 28])), tensor(classes));
  await loss.backward();
  await optimizer.step();
  losses.push(await loss.item());
}
const hash = createHash('sha256');
for (const parameter of model.parameters()) hash.update(await parameter.array());
const hashes = await allGatherObject(hash.digest('hex'));
if (getRank() === 0) console.log(losses.at(-1) < losses[0] / 2, new Set(hashes).size);
await destroyProcessGroup();`;
  /** Each doubles or keeps [1, 2] with its own library; prints the number of libraries in the process. The model is `y = x + x`. */
  const beside = `import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { F, tensor } from '@ringrun/nn';
const [first, path] = process.argv.slice(2);
const uses = {
  ringrun: async () => console.log((await F.relu(tensor(Float32Array.of(1, 2), [2])).array()).join()),
  theirs: async () => {
    const { InferenceSession, Tensor, env } = createRequire(import.meta.url)(path);
    const session = await InferenceSession.create(Buffer.from('CAg6NQoOCgF4CgF4EgF5IgNBZGQSAWdaDwoBeBIKCggIARIECgIIAmIPCgF5EgoKCAgBEgQKAggCQgQKABAN', 'base64'));
    const { y } = await session.run({ x: new Tensor('float32', Float32Array.of(1, 2), [2]) });
    console.log(y.data.join(), env.versions.node);
  },
};
const second = first === 'ringrun' ? 'theirs' : 'ringrun';
for (const name of [first, second, first]) await uses[name]();
const libraries = readFileSync('/proc/self/maps', 'utf8').match(/\\S*libonnxruntime\\.so\\S*/g);
console.log(new Set(libraries).size);`;
  const files = {
    'train.mjs': training,
    'typed.mts': 'const version: string = process.version;\nconsole.log(version);\n',
    'bucket.mjs': `import { Checkpointer } from 'ringrun';
await new Checkpointer({ dir: 's3://bucket/run' }).resume('auto').catch((error) => console.log(error.message));`,
    'sum.mjs': `import ${names} from 'ringrun';\nimport '@ringrun/nn';\nimport '@ringrun/tfjs';\nconst isOneRingrun = () => true;${body}`,
    'sum.cjs': `const ${names} = require('ringrun');\nrequire('@ringrun/nn');\nrequire('@ringrun/tfjs');
const isOneRingrun = async () => (await import('ringrun')).allReduce === allReduce;\n(async () => {${body}})();`,
    'use.ts': `import { DistributedDataParallel, allReduce, type ProcessGroup } from 'ringrun';
import { ReduceOp } from '@ringrun/collectives';
import { RingrunError } from '@ringrun/core';
import { F, nn, tensor } from '@ringrun/nn';
export const model = new DistributedDataParallel(new nn.Linear(2, 1));
export const loss = F.mseLoss(model.forward(tensor(Float32Array.of(1, 2), [1, 2])), tensor(Float32Array.of(1), [1, 1]));
export async function sum(values: Float32Array, processGroup: ProcessGroup): Promise<void> {
  await allReduce(values, { op: ReduceOp.SUM, group: processGroup });
  if (values.length === 0) throw new RingrunError('ERR_NOTHING', 'nothing');
}`,
  };

  const nodeOfVersion = async (version: string) => {
    const args = ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'];
    return (await start('npx', args, { limitMs: 200_000 }).ended).stdout.trim();
  };
  const filesIn = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(
        (entry) => entry.isFile() && !relative(folder, entry.parentPath).split(sep).includes('node_modules'),
      )
      .map((entry) => join(entry.parentPath, entry.name));

  beforeAll(() => {
    const staged = publicPackages().map((one) => stagePackage(one, join(project, 'staged')));
    staged.push(
      stagePlatform(
        targetOfThisMachine()!,
        join(repository, 'native/build/ringrun.node'),
        join(project, 'staged'),
      ),
    );
    const packed = staged.map((one) => pack(one, project));
    installInto(project, packed, others);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
    for (const name of ['use.mts', 'use.cts']) writeFileSync(join(project, name), files['use.ts']);
  }, 400_000);

  test.each(['20', '22', '24', '26'])(
    'reduce on two ranks without a compiler, on Node %s',
    async (version) => {
      const node = await nodeOfVersion(version);
      for (const script of ['sum.mjs', 'sum.cjs']) {
        const args = ['node_modules/ringrun/bin/ringrun.js', '--nproc', '2', script];
        const { code, stdout, stderr } = await start(node, args, { cwd: project, env }).ended;
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toMatch(new RegExp(`^v${version}\\.\\S+ 3 20 true\\n$`));
      }
    },
    300_000,
  );

  test('are at most 60 MB with all dependencies, come from npm alone and have no install script', async () => {
    const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { resolved?: string; hasInstallScript?: boolean }>;
    };
    const extra = ['typescript', '@types/node', 'undici-types', '@ringrun/tfjs', '@ringrun/train'];
    const unwanted = ['', ...extra.map((name) => `node_modules/${name}`)];
    const packages = Object.fromEntries(
      Object.entries(lock.packages).filter(([name]) => !unwanted.includes(name)),
    );
    expect(packages).toHaveProperty([`node_modules/${targetOfThisMachine()!.packageName}`]);
    expect(Object.keys(packages).filter((name) => /onnxruntime|aws|tsx|esbuild/.test(name))).toEqual([]);
    const { stdout: registry } = await start('npm', ['config', 'get', 'registry'], { cwd: project }).ended;
    const elsewhere = Object.values(packages).filter(
      ({ resolved = 'file:' }) => !['file:', registry.trim()].some((place) => resolved.startsWith(place)),
    );
    expect(elsewhere).toEqual([]);
    expect(Object.values(packages).filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);

    const bytes = Object.keys(packages)
      .flatMap((name) => filesIn(join(project, name)))
      .map((file) => statSync(file).size)
      .reduce((sum, size) => sum + size);
    expect(bytes / 1e6).toBeLessThan(60);
  });

  test('run TypeScript with Node 22, 24 and 26, and name the missing package on Node 20', async () => {
    for (const version of ['20', '22', '24', '26']) {
      const node = await nodeOfVersion(version);
      const args = ['node_modules/ringrun/bin/ringrun.js', '--nproc', '1', 'typed.mts'];
      const { code, stdout, stderr } = await start(node, args, { cwd: project, env }).ended;
      if (version === '20') {
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr).toMatch(
          /^ringrun: running typed\.mts on Node\.js 20\.\S+: expected the package tsx, got none\. Run npm install tsx\.\n$/,
        );
      } else
        expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^v2[246]/) as string });
    }
  }, 300_000);

  test('name the package that reads buckets', async () => {
    const { stdout } = await start(process.execPath, ['bucket.mjs'], { cwd: project, env }).ended;
    expect(stdout).toMatch(
      /: listing s3:\/\/bucket\/run\/\S+: expected the package @aws-sdk\/client-s3, got none\. Run npm install @aws-sdk\/client-s3\.\n$/,
    );
  });

  test('train on two ranks', async () => {
    const args = ['node_modules/ringrun/bin/ringrun.js', '--nproc', '2', 'train.mjs'];
    const trained = await start(process.execPath, args, { cwd: project, env, limitMs: 200_000 }).ended;
    expect(trained).toMatchObject({ code: 0, stdout: 'true 1\n' });
  }, 300_000);

  // As transformers.js does, whose onnxruntime-node is of another version than ringrun's library.
  test.each(['ringrun', 'theirs'])(
    'compute beside an onnxruntime-node of another version, %s first',
    async (first) => {
      const theirs = join(project, 'theirs');
      if (!existsSync(theirs)) {
        mkdirSync(theirs);
        writeFileSync(join(theirs, 'package.json'), '{"private":true}');
        const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
        const args = ['install', 'onnxruntime-node@1.24.3', ...flags];
        expect((await start('npm', args, { cwd: theirs, limitMs: 200_000 }).ended).code).toBe(0);
      }
      writeFileSync(join(project, 'two.mjs'), beside);
      const args = ['two.mjs', first, join(theirs, 'node_modules/onnxruntime-node')];
      const { code, stdout, stderr } = await start(process.execPath, args, { cwd: project, env }).ended;
      const expected = { ringrun: '1,2\n', theirs: '2,4 1.24.3\n' };
      const other = first === 'ringrun' ? 'theirs' : 'ringrun';
      expect({ code, stdout, stderr }).toEqual({
        code: 0,
        stdout: [first, other, first].map((name) => expected[name as keyof typeof expected]).join('') + '2\n',
        stderr: '',
      });
    },
    300_000,
  );

  test.each([
    ['nodenext', ['use.mts', 'use.cts', '--module', 'nodenext']],
    ['node16', ['use.mts', 'use.cts', '--module', 'node16']],
    ['a bundler', ['use.ts', '--module', 'preserve', '--moduleResolution', 'bundler']],
  ])(
    'type-check strictly, declarations too, with %s',
    async (_, args) => {
      const tsc = [
        'node_modules/typescript/bin/tsc',
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        'false',
        '--types',
        'node',
      ];
      const { stdout } = await start(process.execPath, [...tsc, '--target', 'es2023', ...args], {
        cwd: project,
        limitMs: 250_000,
      }).ended;
      expect(stdout).toBe('');
    },
    300_000,
  );
});
