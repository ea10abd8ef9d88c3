import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { howToInstall } from '../../native/lib/gpu-libraries.ts';
import { findingsOf } from '../support/doctor.ts';
import { syntheticMnist } from '../support/synthetic-mnist.ts';
import { repository } from '../support/environment.ts';
import { start } from '../support/start.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { filesInContext } from './build-context.ts';
import { readDockerfile } from './dockerfile.ts';

/** `gpu` also builds the image for GPUs. */
const extent = process.env['RINGRUN_IMAGE'] ?? '';
const builds = extent !== '';
const { version } = JSON.parse(readFileSync(join(repository, 'packages/runtime/package.json'), 'utf8')) as {
  version: string;
};

describe('the build context', () => {
  const context = filesInContext();

  test("has the packages' sources, and no test, output or dependency", () => {
    for (const path of [
      'package.json',
      'pnpm-lock.yaml',
      'pnpm-workspace.yaml',
      'tsconfig.base.json',
      'deploy/make-tree.js',
      'native/build.js',
      'native/package.json',
      'native/src/binding/module.cc',
      'packages/runtime/bin/ringrun.js',
      'packages/launcher/src/commands/main.ts',
      'packages/examples-mnist/train.ts',
      'packages/examples-cifar/train.ts',
    ]) {
      expect(context).toContain(path);
    }
    const unwanted = /(^|\/)(test|node_modules|dist|build|bench|docs|\.git)\//;
    expect(context.filter((path) => unwanted.test(path))).toEqual([]);
  });

  test('has every package of the lock file, and every project that its tsconfig refers to', () => {
    const lock = readFileSync(join(repository, 'pnpm-lock.yaml'), 'utf8');
    const importers = [
      ...lock.slice(0, lock.indexOf('\npackages:')).matchAll(/^ {2}(native|packages\/[\w-]+):$/gm),
    ];
    expect(importers.length).toBeGreaterThan(6);
    for (const [, folder] of importers) {
      expect(context).toContain(`${folder}/package.json`);
      const { references = [] } = JSON.parse(
        readFileSync(join(repository, folder, 'tsconfig.json'), 'utf8'),
      ) as {
        references?: { path: string }[];
      };
      for (const { path } of references) expect(context).toContain(join(folder, path, 'tsconfig.json'));
    }
  });
});

describe.each(['Dockerfile', 'Dockerfile.gpu'])('%s', (name) => {
  const instructions = readDockerfile(name);
  const texts = (kind: string) =>
    instructions.filter((instruction) => instruction.name === kind).map(({ text }) => text);

  test('runs ringrun as a numeric user that is not root', () => {
    expect(texts('USER').at(-1)).toBe('1000:1000');
    if (name === 'Dockerfile.gpu') {
      expect(texts('FROM').at(-1)).toBe('${RINGRUN}');
      expect(texts('ARG')).toContain(`RINGRUN=ringrun:${version}`);
      return;
    }
    expect(texts('ENTRYPOINT')).toEqual(['["ringrun"]']);
    const last = instructions.slice(instructions.findLastIndex((instruction) => instruction.name === 'FROM'));
    expect(last.map((instruction) => instruction.name)).toEqual(
      expect.arrayContaining(['USER', 'WORKDIR', 'ENTRYPOINT', 'CMD']),
    );
  });

  test('every path and package that it names exists in its stages or in this repository', () => {
    const stages = texts('FROM').flatMap((text) => / AS (\w+)$/.exec(text)?.[1] ?? []);
    for (const text of texts('COPY')) {
      const from = /^--from=(\w+) /.exec(text)?.[1];
      if (from === undefined) expect(text).toBe('. .');
      else expect(stages).toContain(from);
    }
    const commands = texts('RUN').join('\n');
    for (const [, script] of commands.matchAll(/node (deploy\/\S+)/g))
      expect(filesInContext()).toContain(script);
    // The image for GPUs has it from the first image.
    if (name === 'Dockerfile')
      expect(commands).toContain('ln -s /opt/ringrun/packages/runtime/bin/ringrun.js /usr/local/bin/ringrun');
    const bin = JSON.parse(readFileSync(join(repository, 'packages/runtime/package.json'), 'utf8')) as {
      bin: Record<string, string>;
    };
    expect(bin.bin).toEqual({ ringrun: './bin/ringrun.js' });
  });
});

test('Dockerfile.gpu has the wheels that ringrun names for missing libraries, of fixed versions', () => {
  const gpu = readDockerfile('Dockerfile.gpu');
  const wheels = /^WHEELS="(.*)"$/
    .exec(gpu.find(({ text }) => text.startsWith('WHEELS='))!.text)![1]
    .split(' ');
  for (const wheel of wheels) expect(wheel).toMatch(/^[\w-]+==\d+(\.\d+)+$/);
  const names = wheels.map((wheel) => wheel.split('==')[0]);
  const all = ['nvrtc', 'cublasLt', 'cudnn', 'nccl'] as const;
  expect(howToInstall(all, '12.0')).toContain(`pip install ${names.join(' ')},`);
  const ofCuda13 = /^#\s+--build-arg WHEELS='(.*)'$/m.exec(
    readFileSync(join(repository, 'deploy/Dockerfile.gpu'), 'utf8'),
  )![1];
  expect(howToInstall(all, '13.0')).toContain(`pip install ${ofCuda13},`);
});

// Builds the image's files without Docker; takes minutes and downloads npm packages. RINGRUN_IMAGE=1 (npm run
// test:image).
describe.runIf(builds)(`the tree of the image${builds ? '' : ': skipped, npm run test:image'}`, () => {
  test(
    'is built from the build context, and trains as a user who owns none of its files',
    { timeout: 1_200_000 },
    async () => {
      const folder = temporaryFolder();
      const tree = join(folder, 'tree');
      for (const path of filesInContext()) cpSync(join(repository, path), join(tree, path));
      const made = await start(process.execPath, ['deploy/make-tree.js'], { cwd: tree, limitMs: 1_000_000 })
        .ended;
      expect(made.code, made.stderr).toBe(0);
      const { stdout } = spawnSync('du', ['-sm', tree], { encoding: 'utf8' });
      expect(Number.parseInt(stdout), 'MB').toBeLessThan(160);

      const command = join(folder, 'ringrun');
      symlinkSync(join(tree, 'packages/runtime/bin/ringrun.js'), command);
      const workspace = join(folder, 'workspace');
      mkdirSync(workspace);
      const data = syntheticMnist({ train: 2000, test: 500 });
      for (const shared of [folder, data, workspace]) chmodSync(shared, 0o777);
      const asNode = ['--reuid', '1000', '--regid', '1000', '--clear-groups'];
      const run = (...args: string[]) =>
        start('setpriv', [...asNode, command, ...args], { cwd: workspace, env: { HOME: '/nonexistent' } });

      const findings = await findingsOf(run('doctor', '--json'));
      for (const check of ['addon', 'shared memory', 'onnxruntime'])
        expect(findings[check].level, check).toBe('ok');
      const script = join(tree, 'packages/examples-mnist/train.ts');
      const trained = await run(
        '--nproc-per-node=2',
        script,
        `--data=${data}`,
        `--output=${workspace}/checkpoints`,
      ).ended;
      expect(trained).toMatchObject({ code: 0, stderr: '' });
      expect(trained.stdout).toMatch(/parameters identical on 2 ranks: [0-9a-f]{64}$/m);
    },
  );
});

const buildahProblem = builds ? problemOfBuildah() : 'npm run test:image';

// Builds both stages of the Dockerfiles from base images made of Debian; takes ten minutes.
test.skipIf(buildahProblem)(
  `scripts/build-images.sh: the entrypoints of the images train${buildahProblem ? `: skipped, ${buildahProblem}` : ''}`,
  { timeout: 3_600_000 },
  async () => {
    const gpu = extent === 'gpu' ? ['--gpu'] : [];
    const { code, stdout, stderr } = await start('scripts/build-images.sh', gpu, { limitMs: 3_500_000 })
      .ended;
    expect(code, stdout + stderr).toBe(0);
    console.log(stdout);
    const names = ['ringrun:', ...(extent === 'gpu' ? ['ringrun-gpu:'] : [])];
    for (const name of names) {
      const size = new RegExp(`${name}[\\d.]+ adds (\\d+) MB in /opt/ringrun`).exec(stdout);
      expect(Number(size?.[1]), name).toBeLessThan(160);
      expect(stdout).toMatch(new RegExp(`trained two ranks in ${name}`));
    }
    // Two ranks on the same data produce bit-identical parameters in each image.
    const digests = [...stdout.matchAll(/^parameters identical on 2 ranks: ([0-9a-f]{64})$/gm)];
    expect(new Set(digests.map(([, digest]) => digest)).size).toBe(1);
    expect(digests).toHaveLength(names.length);
    expect(stdout).toContain('trained two ranks in the image of ringrun deploy');
  },
);

function problemOfBuildah(): string | undefined {
  if (process.getuid?.() !== 0) return 'debootstrap and chroot need root';
  const missing = ['buildah', 'debootstrap'].filter((name) => spawnSync(name, ['--version']).error);
  return missing.length === 0 ? undefined : `apt-get install ${missing.join(' ')}`;
}
