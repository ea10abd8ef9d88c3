// Shared by the benchmarks.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The repository's root. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a command in `folder` and resolves with its stdout; rejects if the command fails.
 *
 * @param folder Default: the repository's root. A different built checkout compares two versions in one run.
 */
export function run(command, args, environment = {}, folder = root) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: folder,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (errors += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(' ')}: ${signal ?? `exit code ${code}`}\n${errors}`));
    });
  });
}

/** Compiles a C or C++ program, or with other flags a library, into a folder and returns its path. */
export function compile(source, folder, { compiler = 'cc', flags = ['-march=native'] } = {}) {
  const program = join(folder, basename(source).replace(/\.\w+$/, ''));
  const args = ['-O3', ...flags, join(root, source), '-o', program];
  const { status, stderr, error } = spawnSync(compiler, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${compiler} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return program;
}

/** A currently free port on loopback. */
export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export function median(values) {
  return percentile(values, 50);
}

/** The nearest-rank percentile; the median of an even number of values is the upper of the two in the middle. */
export function percentile(values, percent) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))];
}

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Returns a function that imports a package as a script at the root of `checkout` does. */
export function packagesOf(checkout) {
  const { resolve } = createRequire(join(checkout, 'package.json'));
  return (name) => import(pathToFileURL(resolve(name)).href);
}

/** The options of compileStep with which a row computes in bfloat16 where autocast allows it. */
export function autocastOptions(isBfloat16) {
  return isBfloat16 ? { autocast: 'bfloat16' } : {};
}

/** Calls `compute` under the autocast of `nn`, or without. */
export function withAutocast(nn, isBfloat16, compute) {
  return isBfloat16 ? nn.autocast({ dtype: 'bfloat16' }, compute) : compute();
}

/** Peak resident memory of this process, in bytes. `maxRSS` would include the process that started this one. */
export function peakMemory() {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

/** Whether a row's name contains one of the texts of `--only`, or there are none. */
export function isChosen(name, only) {
  return only.length === 0 || only.some((text) => name.includes(text));
}

/** The message of an error, without the stack that a child printed. */
export function reasonOf(error) {
  const lines = error.message.split('\n').map((line) => line.trim());
  const named = lines.findLast((line) => /^(\w+\.)*\w*(Error|Exception|Unsupported)\b.*:/.test(line));
  return (named ?? lines[0]).slice(0, 200);
}
