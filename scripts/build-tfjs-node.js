// Installs @tensorflow/tfjs-node without its download: libtensorflow comes from a wheel of PyPI, and the addon is compiled
// from the source in the npm package.
//
//   node scripts/build-tfjs-node.js                     for this repository's tests, example and benchmark
//   node scripts/build-tfjs-node.js --gpu               @tensorflow/tfjs-node-gpu, which needs CUDA 12.2 and cuDNN 8 to compute
//   node scripts/build-tfjs-node.js --project FOLDER    in a project of yours instead of build/tfjs-node
//   node scripts/build-tfjs-node.js --wheel FILE        uses a wheel that was downloaded before
//
// Needs Linux on x64, a C++17 compiler, npm, and Python 3 with pip ($PYTHON, default python3). Downloads 200 MB (GPU: 480 MB)
// and takes 1 GB on disk (GPU: 1.7 GB).
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({
  options: { gpu: { type: 'boolean' }, project: { type: 'string' }, wheel: { type: 'string' } },
});

const name = options.gpu ? '@tensorflow/tfjs-node-gpu' : '@tensorflow/tfjs-node';
const version = '4.22.0';
// tfjs-node 4.22 was built with 2.9.1. The wheels contain libtensorflow_cc, which exports the C API, since 2.12.
const wheel = { package: options.gpu ? 'tensorflow' : 'tensorflow-cpu', version: '2.15.1' };
const python = process.env.PYTHON ?? 'python3';
const compiler = process.env.CXX ?? 'g++';
const libraries = ['libtensorflow_cc.so.2', 'libtensorflow_framework.so.2'];

/** Runs a program. Throws if it fails. */
function run(program, args, cwd = root) {
  const { status, error } = spawnSync(program, args, { cwd, stdio: 'inherit' });
  if (status === 0) return;
  throw new Error(
    `${program} ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}. ` +
      'PYTHON names a Python 3 with pip, CXX a C++17 compiler.',
  );
}

/** Installs the npm package without its install script, unless the project has it. Returns its folder. */
function install(project) {
  mkdirSync(project, { recursive: true });
  if (!existsSync(join(project, 'package.json'))) writeFileSync(join(project, 'package.json'), '{}');
  const folder = join(project, 'node_modules', name);
  if (!existsSync(folder)) run('npm', ['install', '--ignore-scripts', `${name}@${version}`], project);
  return folder;
}

/** Unpacks the C API's headers and libraries of the wheel to `deps`, where the addon looks for the libraries. */
function unpack(file, deps) {
  const program = `
import sys, zipfile
wheel, folder = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
parts = ('tensorflow/include/tensorflow/', 'tensorflow/include/tsl/', *('tensorflow/' + name for name in sys.argv[3:]))
wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith(parts)])`;
  const unpacked = join(deps, 'unpacked');
  run(python, ['-c', program, file, unpacked, ...libraries]);
  mkdirSync(join(deps, 'lib'), { recursive: true });
  for (const library of libraries) {
    renameSync(join(unpacked, 'tensorflow', library), join(deps, 'lib', library));
  }
  rmSync(join(deps, 'include'), { recursive: true, force: true });
  renameSync(join(unpacked, 'tensorflow/include'), join(deps, 'include'));
  rmSync(unpacked, { recursive: true });
}

function unpackDownloadedWheel(deps) {
  const temporary = mkdtempSync(join(tmpdir(), 'ringrun-wheel-'));
  const anyPython = ['--no-deps', '--only-binary=:all:', '--python-version', '3.11'];
  try {
    run(python, [
      ...['-m', 'pip', 'download', '-d', temporary],
      ...[...anyPython, `${wheel.package}==${wheel.version}`],
    ]);
    const file = readdirSync(temporary).find((name) => name.endsWith('.whl'));
    unpack(join(temporary, file), deps);
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

/** Compiles the addon to the path at which the package's loader expects it. */
function compile(folder) {
  const native = createRequire(join(root, 'native/package.json'));
  const nodeHeaders = join(dirname(native.resolve('node-api-headers/package.json')), 'include');
  const loader = createRequire(join(folder, 'package.json'));
  const addon = loader('@mapbox/node-pre-gyp').find(join(folder, 'package.json'));
  mkdirSync(dirname(addon), { recursive: true });
  const [command, ...first] = compiler.split(' ');
  run(command, [
    ...[...first, '-std=c++17', '-O2', '-fPIC', '-shared', '-DNAPI_VERSION=8'],
    ...[`-I${nodeHeaders}`, `-I${join(folder, 'deps/include')}`, `-I${join(folder, '..')}`],
    ...['tfjs_backend.cc', 'tfjs_binding.cc'].map((source) => join(folder, 'binding', source)),
    ...['-o', addon, `-L${join(folder, 'deps/lib')}`, '-Wl,-rpath,$ORIGIN/../../deps/lib'],
    ...libraries.map((library) => `-l:${library}`),
  ]);
}

/** Lets programs of this repository import the package by its name. The link is lost when packages are installed. */
function link(folder) {
  const at = join(root, 'node_modules', name);
  if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(at);
  mkdirSync(dirname(at), { recursive: true });
  symlinkSync(folder, at);
}

function build() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`expected linux-x64, got ${process.platform}-${process.arch}.`);
  }
  const folder = install(resolve(options.project ?? join(root, 'build/tfjs-node')));
  const deps = join(folder, 'deps');
  if (options.wheel !== undefined) unpack(options.wheel, deps);
  else if (!libraries.every((library) => existsSync(join(deps, 'lib', library)))) unpackDownloadedWheel(deps);
  compile(folder);
  if (options.project === undefined) link(folder);
  const report = `const tf = require(${JSON.stringify(folder)});
    console.log(tf.version['tfjs-node'], 'with TensorFlow', tf.backend().binding.TF_Version, 'computes 1 + 1 =', tf.add(1, 1).dataSync()[0]);`;
  run(process.execPath, ['-e', report]);
}

try {
  build();
} catch (error) {
  console.error(`build-tfjs-node: ${error.message}`);
  process.exitCode = 1;
}
