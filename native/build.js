// Compiles the addon: native/src → native/build/ringrun.node. Plain JavaScript and a C++ compiler; nothing is
// downloaded.
//
//   node native/build.js                recompiles changed files
//   node native/build.js --clean        recompiles all files
//   node native/build.js --into FOLDER  builds FOLDER/ringrun.node, with its own object files; for RINGRUN_NATIVE
//   node native/build.js --seen TIME    compiles in one process if several call this at once; a binary whose modification
//                                       time (in ms) is not TIME is used as it is
//
// $CXX is the compiler, optionally with its first arguments (`zig c++ -target aarch64-linux-musl`). $CXXFLAGS is added
// to every call (such as -fsanitize=address), $LDFLAGS to linking.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { once } from './once.js';

const root = dirname(fileURLToPath(import.meta.url));
const sourceFolder = join(root, 'src');
const { values: options } = parseArgs({
  options: {
    clean: { type: 'boolean' },
    into: { type: 'string', default: join(root, 'build') },
    seen: { type: 'string' },
  },
});
const buildFolder = resolve(options.into);
const binary = join(buildFolder, 'ringrun.node');

/** Compilers tried in this order if $CXX is not set. */
const compilers = ['g++', 'clang++', 'c++'];

const howToInstall = {
  linux:
    'apt-get install g++ (Debian, Ubuntu), apk add g++ linux-headers (Alpine), dnf install gcc-c++ (Fedora)',
  darwin: 'xcode-select --install',
};

function findCompiler() {
  const candidates = process.env.CXX ? [process.env.CXX] : compilers;
  const tried = [];
  for (const candidate of candidates) {
    const [command, ...first] = candidate.split(' ');
    const { status, error, stdout, stderr } = spawnSync(command, [...first, '--version'], {
      encoding: 'utf8',
    });
    if (status === 0) return { name: candidate, command, first, version: stdout };
    tried.push(`${candidate} (${error ? error.code : `exit code ${status}: ${stderr.trim()}`})`);
  }
  const cure = howToInstall[process.platform] ?? 'install a C++17 compiler';
  throw new Error(
    `no working C++ compiler found; tried ${tried.join(', ')}. Install one: ${cure}; or set CXX to one`,
  );
}

function flagsOf() {
  const require = createRequire(import.meta.url);
  const addonApi = dirname(require.resolve('node-addon-api/package.json'));
  const headers = join(dirname(require.resolve('node-api-headers/package.json')), 'include');
  const system = [`-isystem`, addonApi, '-isystem', headers];
  const language = ['-std=c++17', '-O3', '-fPIC', '-fvisibility=hidden', '-pthread', '-Wall', '-Wextra'];
  // A worker thread terminated inside an addon function cannot throw into JavaScript. Without this the process would
  // abort.
  const terminated = '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS';
  const defines = ['-DNAPI_VERSION=8', '-DNODE_ADDON_API_CPP_EXCEPTIONS_ALL', terminated];
  return [...language, ...defines, `-I${sourceFolder}`, ...system, ...wordsOf('CXXFLAGS')];
}

function linkFlagsOf() {
  const undefinedSymbols = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  return ['-shared', '-pthread', ...undefinedSymbols, ...wordsOf('CXXFLAGS'), ...wordsOf('LDFLAGS')];
}

function wordsOf(variable) {
  return (process.env[variable] ?? '').split(/\s+/).filter(Boolean);
}

/** Each compiler and set of flags has its own folder, so that objects of another are never taken for current. */
function objectFolderOf(compiler, flags) {
  const parts = [compiler.name, compiler.version, process.platform, process.arch, flags];
  const identity = createHash('sha256').update(JSON.stringify(parts));
  return join(buildFolder, `objects-${identity.digest('hex').slice(0, 12)}`);
}

function sources() {
  return readdirSync(sourceFolder, { recursive: true })
    .filter((name) => name.endsWith('.cc'))
    .sort();
}

/** The files that an object depends on, from the dependency file that the compiler writes. */
function dependenciesOf(object) {
  const text = readFileSync(object.replace(/\.o$/, '.d'), 'utf8');
  return text
    .slice(text.indexOf(':') + 1)
    .replaceAll('\\\n', ' ')
    .split(/(?<!\\)\s+/)
    .filter(Boolean)
    .map((name) => name.replaceAll('\\ ', ' '));
}

function isCurrent(object) {
  try {
    const made = statSync(object).mtimeMs;
    return dependenciesOf(object).every((file) => statSync(file).mtimeMs < made);
  } catch {
    return false; // not compiled yet, or a dependency was deleted
  }
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('close', (status, signal) => {
      if (status === 0) resolve();
      else reject(new Error(`${signal ?? `exit code ${status}`} from: ${command} ${args.join(' ')}`));
    });
  });
}

/** Writes to a temporary name first, so that parallel or interrupted builds leave no partial file. */
async function make(output, command, args) {
  const temporary = `${output}.${process.pid}.tmp`;
  try {
    await run(command, [...args, '-o', temporary]);
    renameSync(temporary, output);
  } finally {
    rmSync(temporary, { force: true });
  }
}

async function compileAll({ command, first }, flags, jobs) {
  const waiting = jobs.filter(({ object }) => !isCurrent(object));
  const stale = [...waiting];
  const worker = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      mkdirSync(dirname(job.object), { recursive: true });
      const dependencies = ['-MMD', '-MF', job.object.replace(/\.o$/, '.d'), '-MT', 'object'];
      await make(job.object, command, [...first, ...flags, ...dependencies, '-c', job.source]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), 8) }, worker));
  return stale.length;
}

async function build(compiler) {
  if (options.clean) rmSync(buildFolder, { recursive: true, force: true });
  const flags = flagsOf();
  const objectFolder = objectFolderOf(compiler, flags);
  const jobs = sources().map((name) => ({
    source: join(sourceFolder, name),
    object: join(objectFolder, name.replace(/\.cc$/, '.o')),
  }));
  const compiled = await compileAll(compiler, flags, jobs);

  const linkedStamp = join(buildFolder, 'linked');
  const linked = existsSync(linkedStamp) ? readFileSync(linkedStamp, 'utf8') : '';
  if (compiled === 0 && linked === objectFolder && existsSync(binary)) return;
  const objects = jobs.map(({ object }) => object);
  await make(binary, compiler.command, [...compiler.first, ...objects, ...linkFlagsOf()]);
  writeFileSync(linkedStamp, objectFolder);
  console.error(
    `ringrun: compiled ${compiled} files with ${compiler.name} into ${relative(process.cwd(), binary)}`,
  );
}

/** For ranks that start at the same time without a binary. */
function buildOnce(compiler) {
  return once({
    lock: join(buildFolder, 'compiling'),
    isDone: () => String(statSync(binary, { throwIfNoEntry: false })?.mtimeMs ?? 0) !== options.seen,
    onWait: (holder) => {
      // One rank of each host prints the line.
      if ((process.env.LOCAL_RANK ?? '0') === '0') {
        console.log(`ringrun: waiting for ${holder}, which is compiling the native addon`);
      }
    },
    work: () => {
      console.log(
        `ringrun: no prebuilt native addon for ${process.platform}-${process.arch}: compiling it once, which takes minutes. ` +
          'To compile it in advance, run npx ringrun build-native',
      );
      return build(compiler);
    },
  });
}

try {
  const compiler = findCompiler();
  await (options.seen === undefined ? build(compiler) : buildOnce(compiler));
} catch (error) {
  console.error(`ringrun: the native addon was not built: ${error.message}`);
  process.exitCode = 1;
}
