// Packs the check of GPUs into a folder that needs no repository: `node --import tsx scripts/gpu-check/pack.js
// FOLDER [--here]`. Everything
// that travels has less than 64 MiB. With --here, Node, the addon and onnxruntime are not copied: for a check on this machine.
//
// Tests of kernels are bundled as they are, over vitest.js, and use NVIDIA's libraries in place of the fakes. Their expected
// results are computed where they run, by the executor for CPUs; the losses of the MNIST CNN are computed here.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { commitOf } from '../../bench/machine.js';
import { addZeromq } from '../release/zeromq.js';
import { compileDriverContract, driverContract } from '../../native/test/gpu/compile-driver-contract.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const own = join(root, 'scripts/gpu-check');
const limitBytes = 64 * 2 ** 20;

/** Tests that hold on a GPU: others are about the fakes, or start processes. */
const testFiles = [
  'native/test/gpu/kernels.test.ts',
  'native/test/gpu/products.test.ts',
  'native/test/gpu/convolutions.test.ts',
  'native/test/gpu/program.test.ts',
  ...testsBelow('packages/nn/test/executor/cuda'),
  'test/gpu-training.test.ts',
];

const programs = ['check', 'compare', 'doctor', 'bits', 'losses', 'costs', 'ranks', 'contender'];
const probes = ['addon', 'gpu-compute', 'gpus', 'onnxruntime', 'shared-memory'];
const pythonFiles = [
  'scripts/gpu-check/peer.py',
  'scripts/gpu-check/jax_models.py',
  'bench/answers.py',
  'bench/train/models.py',
  'bench/gpt/model.py',
];

const [folder, where] = process.argv.slice(2);
if (folder === undefined) {
  console.error('pack.js: expected a folder. Run scripts/gpu-compute-check.sh --pack FOLDER.');
  process.exit(2);
}
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
await bundle(resolve(folder));
// For machines without a compiler.
compileDriverContract(join(folder, 'driver-contract'), ['-O1', '-static-libstdc++', '-static-libgcc']);
writeFileSync(join(folder, 'driver-contract.txt'), driverContract);
for (const file of pythonFiles) copyFileSync(join(root, file), join(folder, nameOfPython(file)));
writeFileSync(
  join(folder, 'about.json'),
  JSON.stringify({ commit: commitOf(root), node: process.version, tests: testFiles.length }),
);
// As in the platform packages: zeromq/lib/index.js and its binary.
addZeromq({ os: process.platform, cpu: process.arch, libc: 'glibc' }, join(folder, 'node_modules'));
writeFileSync(
  join(folder, 'node_modules/zeromq/package.json'),
  '{ "name": "zeromq", "main": "lib/index.js" }',
);
await packMsgpackr();
writeLosses();
if (where !== '--here') {
  copyFileSync(join(root, 'scripts/gpu-compute-check.sh'), join(folder, 'gpu-compute-check.sh'));
  compress(process.execPath, 'node');
  compress(join(root, 'native/build/ringrun.node'), 'ringrun.node', true);
  compress(onnxruntime(), 'libonnxruntime.so');
  reportSize();
}

async function bundle(outdir) {
  const entryPoints = Object.fromEntries([
    ...programs.map((name) => [name, join(own, `${name}.js`)]),
    ...probes.map((name) => [
      `probes/${name}`,
      join(root, `packages/launcher/src/commands/doctor/probes/${name}.ts`),
    ]),
    ...testFiles.map((file) => [`tests/${nameOfTest(file)}`, join(root, file)]),
  ]);
  // Not from this folder: vitest is the one that has the matchers.
  const ofVitest = createRequire(createRequire(import.meta.url).resolve('vitest'));
  await build({
    ...{
      entryPoints,
      outdir,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
    },
    conditions: ['source'],
    chunkNames: '[name]-[hash]',
    minify: true,
    keepNames: true,
    logLevel: 'warning',
    alias: { vitest: join(own, 'vitest.js'), '@vitest/expect': ofVitest.resolve('@vitest/expect') },
    external: ['zeromq', 'esbuild', 'typescript', 'tsx', '@aws-sdk/*', '@tensorflow/*', 'onnxruntime-node'],
    banner: {
      js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
    },
    plugins: [{ name: 'real libraries', setup: useRealLibraries }],
  });
  writeFileSync(join(outdir, 'package.json'), '{ "type": "module" }');
}

/** Loaded by its name when ranks exchange objects. */
async function packMsgpackr() {
  const ofCollectives = createRequire(join(root, 'packages/collectives/package.json'));
  await build({
    entryPoints: [ofCollectives.resolve('msgpackr')],
    outfile: join(folder, 'node_modules/msgpackr/index.cjs'),
    ...{ bundle: true, format: 'cjs', platform: 'node', minify: true, external: ['msgpackr-extract'] },
  });
  writeFileSync(
    join(folder, 'node_modules/msgpackr/package.json'),
    '{ "name": "msgpackr", "main": "index.cjs" }',
  );
}

/** Libraries as the process finds them: NVIDIA's on a machine with a GPU. */
function useRealLibraries({ onLoad }) {
  onLoad({ filter: /\/native\/test\/fake-gpu\/libraries\.ts$/ }, () => ({
    contents:
      'export const fakeGpuLibraries = () => ({}); export const fakeComputeLibraries = fakeGpuLibraries;',
  }));
}

function testsBelow(path) {
  const names = readdirSync(join(root, path), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => join(path, name));
}

/** `nn-softmax` of packages/nn/test/executor/cuda/kernels/softmax.test.ts. */
function nameOfTest(file) {
  const owner = file.startsWith('packages/') ? file.split('/')[1] : file.split('/')[0];
  return `${owner}-${file.split('/').at(-1).replace('.test.ts', '')}`;
}

function nameOfPython(file) {
  return file === 'bench/train/models.py' ? 'models.py' : file.split('/').at(-1);
}

function compress(file, name, strips = false) {
  const copy = join(folder, name);
  copyFileSync(file, copy);
  chmodSync(copy, 0o755);
  if (strips) execFileSync('strip', ['--strip-unneeded', copy]);
  execFileSync('xz', ['-9', '--force', copy]);
}

function onnxruntime() {
  const { resolve: resolvePackage } = createRequire(join(root, 'package.json'));
  const bin = join(dirname(resolvePackage('onnxruntime-node/package.json')), 'bin');
  const [api] = readdirSync(bin);
  return join(bin, api, process.platform, process.arch, 'libonnxruntime.so.1');
}

function writeLosses() {
  const env = {
    ...process.env,
    RINGRUN_NATIVE: join(root, 'native/build/ringrun.node'),
    RINGRUN_ONNXRUNTIME_LIBRARY: onnxruntime(),
    RINGRUN_DEVICE: 'cpu',
  };
  const losses = execFileSync(process.execPath, [join(folder, 'losses.js'), '200'], {
    env,
    encoding: 'utf8',
  });
  writeFileSync(join(folder, 'losses.json'), losses);
}

function reportSize() {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  const sizes = files
    .map((file) => [statSync(file), relative(folder, file)])
    .filter(([stat]) => stat.isFile());
  const total = sizes.reduce((sum, [{ size }]) => sum + size, 0);
  const largest = sizes.sort(([a], [b]) => b.size - a.size).slice(0, 4);
  const shown = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  console.log(
    `${folder}: ${shown(total)}; ${largest.map(([{ size }, name]) => `${name} ${shown(size)}`).join(', ')}`,
  );
  if (total > limitBytes) throw new Error(`expected at most ${shown(limitBytes)}, got ${shown(total)}`);
}
