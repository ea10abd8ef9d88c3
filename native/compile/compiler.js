import { spawn, spawnSync } from 'node:child_process';
import { renameSync, rmSync } from 'node:fs';
import { systemOf } from './systems.js';

/** Compilers tried in this order if $CXX is not set. */
const compilers = ['g++', 'clang++', 'c++'];

const howToInstall = {
  linux:
    'apt-get install g++ (Debian, Ubuntu), apk add g++ linux-headers (Alpine), dnf install gcc-c++ (Fedora)',
  darwin: 'xcode-select --install',
};

export function findCompiler() {
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

/** The flags of every source, without folders. */
export function compileFlags() {
  const language = ['-std=c++17', '-O3', '-fPIC', '-fvisibility=hidden', '-pthread', '-Wall', '-Wextra'];
  // A worker thread terminated inside an addon function cannot throw into JavaScript. Without this, the process would
  // abort.
  const terminated = '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS';
  const defines = ['-DNAPI_VERSION=8', '-DNODE_ADDON_API_CPP_EXCEPTIONS_ALL', terminated];
  return [...language, ...defines, ...wordsOf('CXXFLAGS')];
}

export function linkFlags() {
  const undefinedSymbols = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  // Node.js closes an addon at the end of the last thread that loaded it, while the addon's own threads still run its code.
  // g++ marks the library by its unique symbols, clang and zig do not.
  const staysOpen = systemOf() === 'linux' ? ['-Wl,-z,nodelete'] : [];
  return [
    ...['-shared', '-pthread', ...undefinedSymbols, ...staysOpen],
    ...[...wordsOf('CXXFLAGS'), ...wordsOf('LDFLAGS')],
  ];
}

function wordsOf(variable) {
  return (process.env[variable] ?? '').split(/\s+/).filter(Boolean);
}

/**
 * Runs the compiler. It writes to a temporary name first, so that parallel or interrupted builds leave no partial file.
 *
 * @param isCurrent Called when the compiler has succeeded. The output is kept if it returns true.
 */
export async function make(output, { command, first }, args, isCurrent = () => true) {
  const temporary = `${output}.${process.pid}.tmp`;
  try {
    await run(command, [...first, ...args, '-o', temporary]);
    if (isCurrent()) renameSync(temporary, output);
  } finally {
    rmSync(temporary, { force: true });
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
