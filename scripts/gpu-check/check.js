// The first call on a machine with a GPU, or over fakes with RINGRUN_CHECK_FORM=short: `node check.js OUT [SECONDS]`. Writes a row
// to OUT/check.jsonl when each step ends, a line to OUT/tests.jsonl when each test ends, and all output to OUT/check.log.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { Rows, errorLine } from './rows.js';

const own = fileURLToPath(new URL('.', import.meta.url));
const [out = 'out', seconds = '230'] = process.argv.slice(2);
const isShort = process.env.RINGRUN_CHECK_FORM === 'short';
const deadline = performance.now() + 1000 * Number(seconds);
mkdirSync(out, { recursive: true });
const [log, testLines] = ['check.log', 'tests.jsonl'].map((name) => join(out, name));
for (const file of [log, testLines]) writeFileSync(file, '');
const rows = new Rows(out, 'check.jsonl');
/** Not for tests, which compute what they expect on the CPU. */
const onGpu = { RINGRUN_DEVICE: 'cuda' };

await step('doctor', [node('doctor.js')], 60, ({ stdout }) => {
  process.stdout.write(stdout);
  return 'see above';
});
await step('driver contract', [{ command: join(own, 'driver-contract'), args: [] }], 20, driverContract);
for (const blocking of isShort ? ['0'] : ['0', '1']) {
  const env = { CUDA_LAUNCH_BLOCKING: blocking };
  const way = blocking === '1' ? 'launches' : 'replays';
  await step(`cost of ${way}`, [node('costs.js', [isShort ? '3' : '200'], env)], 30, ({ stdout }) => {
    return stdout.trim().replaceAll('\n', ' ');
  });
}
// Before the trainings, which fail without them. Side by side, because compiling takes most of the time.
const waiting = testNames();
await Promise.all(
  Array.from({ length: Math.min(14, availableParallelism()) }, async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const file = node(`tests/${name}.js`, [], { RINGRUN_CHECK_TESTS: testLines });
      await step(`tests of ${name}`, [file], 120, tests);
    }
  }),
);
await step('graphs have the bits of launches', bitRuns(), 60, sameBits);
await step(`losses of the MNIST CNN`, [node('losses.js', [isShort ? '3' : '200'], onGpu)], 60, closeLosses);
await sanitize();
console.log(rows.failures === 0 ? 'all steps passed' : `${rows.failures} steps failed`);
process.exitCode = rows.failures === 0 ? 0 : 1;

function node(script, args = [], env = {}) {
  return { command: process.execPath, args: [join(own, script), ...args], env };
}

function testNames() {
  const all = readdirSync(join(own, 'tests'))
    .filter((name) => name.endsWith('.js'))
    .map((name) => name.slice(0, -'.js'.length));
  return isShort ? all.filter((name) => /^(native-products|nn-softmax|nn-arena)$/.test(name)) : all;
}

/**
 * Runs commands side by side and adds a row.
 *
 * @param judge from their results to the detail of the row; throws if they are wrong
 */
async function step(what, commands, limitSeconds, judge) {
  const startedAt = performance.now();
  const row = (ok, detail) => {
    rows.add({ what, ok, detail, seconds: (performance.now() - startedAt) / 1000 });
  };
  const left = deadline - performance.now();
  if (left < 1000) return row(false, 'no time was left');
  const results = await Promise.all(
    commands.map((command) => run(command, Math.min(limitSeconds * 1000, left))),
  );
  const failed = results.find((result) => result.code !== 0);
  if (failed !== undefined) return row(false, failureOf(failed));
  try {
    row(true, judge(...results));
  } catch (error) {
    row(false, error.message);
  }
}

function failureOf({ code, signal, stdout, stderr, timedOut }) {
  const failed = testsIn(stdout);
  const how = timedOut ? 'stopped at its limit of time' : (signal ?? `exit code ${code}`);
  return [how, failed, errorLine(stderr)].filter(Boolean).join('; ').slice(0, 500);
}

function run({ command, args, env = {} }, limitMs) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  appendFileSync(log, `\n$ ${[command, ...args].join(' ')}\n`);
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      texts[name] += text;
      appendFileSync(log, text);
    });
  }
  return new Promise((resolve) => {
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, limitMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve({ code: undefined, ...texts, stderr: error.message, timedOut });
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, ...texts, timedOut });
    });
  });
}

/** Counts of node:test's summary. */
function testsIn(stdout) {
  const count = (name) => new RegExp(`^(?:#|ℹ) ${name} (\\d+)$`, 'm').exec(stdout)?.[1];
  if (count('pass') === undefined) return undefined;
  return `${count('pass')} passed, ${count('fail')} failed, ${count('skipped')} skipped`;
}

function tests({ stdout }) {
  return testsIn(stdout) ?? 'no summary';
}

/** The last line is not of CUDA: with a GPU's memory that the host can read, it says so. */
function driverContract({ stdout }) {
  const expected = readFileSync(join(own, 'driver-contract.txt'), 'utf8');
  if (stdout !== expected) {
    const lines = stdout.split('\n');
    const place = expected.split('\n').findIndex((line, i) => line !== lines[i]);
    throw new Error(`expected '${expected.split('\n')[place]}', got '${lines[place]}'`);
  }
  return `${expected.trim().split('\n').length} refusals as expected`;
}

/** Replayed twice, and launched: in short form only the smallest trainings. */
function bitRuns() {
  const args = isShort ? ['4', 'gpt'] : ['8'];
  return [{}, {}, { CUDA_LAUNCH_BLOCKING: '1' }].map((env) => node('bits.js', args, { ...onGpu, ...env }));
}

function sameBits(...results) {
  const [first, ...others] = results.map(({ stdout }) => stdout.trim());
  const other = others.find((text) => text !== first);
  if (other !== undefined) throw new Error(`expected ${first}, got ${other}`);
  return first;
}

/** Rounding grows with the steps. */
function closeLosses({ stdout }) {
  const file = join(own, 'losses.json');
  const [got, expected] = [stdout, existsSync(file) ? readFileSync(file, 'utf8') : '[]'].map(JSON.parse);
  if (expected.length < got.length)
    throw new Error(`expected ${got.length} losses in ${file}, got ${expected.length}`);
  const differences = got.map((loss, i) => Math.abs(loss - expected[i]));
  const [early, late] = [Math.max(...differences.slice(0, 20)), Math.max(...differences)];
  if (!(early < 1e-4 && late < 2e-2)) {
    throw new Error(`expected losses of the CPU, got differences of ${early} in 20 steps and ${late} in all`);
  }
  const [first, last] = [got[0], got.at(-1)];
  return `${got.length} steps from ${first.toFixed(4)} to ${last.toFixed(4)}; largest difference ${late.toExponential(1)}`;
}

/** Memory accesses of all kernels of a test, where the tool exists. */
async function sanitize() {
  const found = await run({ command: 'compute-sanitizer', args: ['--version'] }, 20_000);
  if (found.code !== 0) {
    rows.add({ what: 'compute-sanitizer', detail: 'not installed' });
    return;
  }
  const left = Math.min(40, (deadline - performance.now()) / 1000);
  if (left < 5) {
    rows.add({ what: 'compute-sanitizer', detail: 'no time was left' });
    return;
  }
  for (const tool of ['memcheck', 'racecheck']) {
    const { env, ...script } = node('bits.js', ['2'], { ...onGpu, RINGRUN_CHECK_FORM: 'short' });
    // Functions of the driver refuse some calls that only ask whether something is there.
    const quiet = tool === 'memcheck' ? ['--report-api-errors', 'no'] : [];
    const args = ['--tool', tool, ...quiet, '--error-exitcode', '9', script.command, ...script.args];
    await step(
      `compute-sanitizer ${tool}`,
      [{ command: 'compute-sanitizer', args, env }],
      left / 2,
      ({ stdout }) => {
        return (
          /ERROR SUMMARY: .*/.exec(stdout)?.[0] ?? /RACECHECK SUMMARY: .*/.exec(stdout)?.[0] ?? 'no errors'
        );
      },
    );
  }
}
