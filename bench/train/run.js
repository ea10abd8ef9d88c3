// Training steps of two processes: `npm run bench:train -- [--models mnist,cifar,resnet18] [--batch 64] [--ranks 2]
// [--rounds 3] [--steps N] [--quick] [--before CHECKOUT] [--python PYTHON]... [--only TEXT]... [--unfused] [--json FILE]`.
//
// Each round measures every row (whose name contains a TEXT) once, in separate processes; a row is the median over the
// rounds. The rows are a ladder of ringrun's communication, the same of another built checkout (`--before`), PyTorch
// DDP over gloo for every PYTHON with torch (docs/performance.md, "Peers") in its modes, and a limit: the time that C processes with
// equal work lose by waiting for each other (limit_together.c). `--steps` is the number of measured steps of a row, and
// `--quick` measures one round of a tenth of the steps. `--unfused` adds PyTorch's modes without its fused SGD. The last part is the lateness of a timer while ResNet-18 trains
// on all processors.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bestLine } from '../best.js';
import { commitOf, printMachine } from '../machine.js';
import { modesOf, runTorchRanks, torchOf } from '../pytorch.js';
import { compile, isChosen, mean, median, percentile, reasonOf, root, run } from '../support.js';
import { shown, tableOf } from '../table.js';
import { models } from './models.js';
import { roundOf, rowOf, speedRatio } from './report.js';

const { values: options } = parseArgs({
  options: {
    models: { type: 'string', default: Object.keys(models).join() },
    batch: { type: 'string', default: '64' },
    ranks: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string' },
    quick: { type: 'boolean', default: false },
    before: { type: 'string' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    only: { type: 'string', multiple: true, default: [] },
    unfused: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
const [ranks, batch] = [options.ranks, options.batch].map(Number);
const rounds = options.quick ? 1 : Number(options.rounds);
/**
 * About 4,500 timers of a round. With the 600 of four steps, the late timers of V8's compilation in the first steps decide
 * the 99th percentile.
 */
const timerSteps = options.quick ? 4 : 30;
const torches = options.python.flatMap((python) => torchOf(python) ?? []);
const before = options.before && resolve(options.before);
const folder = mkdtempSync(join(tmpdir(), 'ringrun-bench-'));
/** Both sides compute on one thread per rank. */
const threads = { OMP_NUM_THREADS: '1' };

try {
  const timedRuns = compile('bench/train/timed_runs.c', folder, { flags: ['-shared', '-fPIC'] });
  const limit = compile('bench/train/limit_together.c', folder);

  const ringrun = (name, way, checkout = root) => ({
    name,
    library: 'ringrun',
    isBfloat16: way.endsWith('+bf16'),
    trainsTogether: !name.startsWith('alone') && checkout === root,
    // Whether a rank waits outside of its runs. The runs of `each` cannot be assigned to steps of equal length.
    communicates: way !== 'alone' && !way.startsWith('each'),
    train: (model, steps, reports) =>
      trainRingrun(
        timedRuns,
        [way, model, batch, warmUpOf(model, 'ringrun'), steps, reports, checkout],
        checkout,
      ),
  });
  const contenders = [
    ringrun('DDP', 'ddp'),
    ringrun('DDP, compileStep', 'compiled'),
    ringrun('DDP, compileStep, traceOnce', 'traced'),
    ringrun('DDP, compileStep, each', 'each'),
    ringrun('DDP, compileStep+bf16', 'compiled+bf16'),
    ringrun('DDP, compileStep, traceOnce+bf16', 'traced+bf16'),
    ringrun('DDP, compileStep, each+bf16', 'each+bf16'),
    ringrun('DDP, compileStep, shareParameters', 'shared'),
    ringrun('alone', 'alone'),
    ringrun('alone + barrier', 'barrier'),
    ringrun('alone + all-reduce', 'all-reduce'),
    ...(before ? [ringrun('DDP before', 'ddp', before), ringrun('alone before', 'alone', before)] : []),
    ...torches.flatMap(pytorch),
  ].filter(({ name }) => isChosen(name, options.only));

  const commits = { now: commitOf(root), ...(before && { before: commitOf(before) }) };
  const result = { commits, load: loadavg()[0], rounds, ranks, batch, models: {} };
  printMachine(torches);
  if (before) console.log(`before: ${commits.before}`);
  const names = options.models.split(',');
  for (const model of contenders.length > 0 ? names : []) {
    result.models[model] = await measure(model, contenders, limit);
    print(model, result.models[model]);
    save(result);
  }
  if (names.includes('resnet18') && isChosen('timer', options.only)) {
    result.timer = await measureTimer();
    printTimer(result.timer);
    save(result);
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(model, contenders, limit) {
  const steps = stepsOf(model);
  const measured = new Map(contenders.map(({ name }) => [name, []]));
  const skipped = {};
  const limits = [];
  for (let round = 1; round <= rounds; round += 1) {
    // Alternating directions: a drift of the machine's speed affects all rows alike.
    const order = round % 2 === 0 ? contenders.toReversed() : contenders;
    for (const contender of order) {
      if (!measured.has(contender.name)) continue;
      try {
        const own = await roundOfContender(contender, model, Math.ceil(steps / rounds));
        measured.get(contender.name).push(own);
      } catch (error) {
        if (!contender.isBfloat16 && contender.library === 'ringrun') throw error;
        skipped[contender.name] = reasonOf(error);
        measured.delete(contender.name);
      }
    }
    const alone = measured.get('alone')?.at(-1);
    if (alone) limits.push(await measureLimit(limit, mean(alone.map(({ medianMs }) => medianMs))));
    console.error(`${model}: round ${round} of ${rounds} done`);
  }
  const first = measured.get('DDP') ?? [...measured.values()][0];
  const rows = [...measured].map(([name, all]) => ({
    name,
    ...rowOf(all),
    relativeToDdp: speedRatio(first, all),
  }));
  const best = bestLine(
    contenders
      .filter(({ name, trainsTogether }) => trainsTogether && measured.has(name))
      .map((one) => ({ ...one, times: measured.get(one.name).map(stepMsOf) })),
  );
  return { steps, rows, best, skipped, ...ratiosOf(measured, limits) };
}

/** The shares of ringrun's and of the limit's speed that remain when processes wait for each other at every step. */
function ratiosOf(measured, limits) {
  const [ddp, alone] = [measured.get('DDP'), measured.get('alone')];
  if (limits.length === 0 || !ddp) return {};
  const limit = median(limits.map(({ apartMs, togetherMs }) => apartMs / togetherMs));
  return { kept: speedRatio(ddp, alone), limit, limits };
}

async function roundOfContender(contender, model, steps) {
  const reports = mkdtempSync(join(folder, 'reports-'));
  await contender.train(model, steps, reports);
  const read = (_, rank) => JSON.parse(readFileSync(join(reports, `${rank}.json`), 'utf8'));
  const own = roundOf(Array.from({ length: ranks }, read), contender);
  const step = own.map(({ medianMs }) => medianMs.toFixed(2)).join(', ');
  console.error(`${model}, ${contender.name}: ${step} ms a step on ranks 0 to ${ranks - 1}`);
  return own;
}

/** Measured steps of a row. */
function stepsOf(model) {
  if (options.steps) return Number(options.steps);
  return inThisForm(models[model].steps);
}

/** Steps of each process of a library before the measured ones. */
function warmUpOf(model, library) {
  return inThisForm(models[model].warmUp[library]);
}

function inThisForm(steps) {
  return options.quick ? Math.max(2, Math.floor(steps / 10)) : steps;
}

function stepMsOf(ofRanks) {
  return mean(ofRanks.map(({ medianMs }) => medianMs));
}

/** Runs ringrun through its launcher, as users do. */
async function trainRingrun(timedRuns, args, checkout) {
  const runs = join(folder, 'runs');
  mkdirSync(runs, { recursive: true });
  const environment = {
    ...threads,
    BENCH_RUNS: runs,
    BENCH_ONNXRUNTIME: onnxruntimeOf(checkout),
    RINGRUN_ONNXRUNTIME_LIBRARY: timedRuns,
    LD_PRELOAD: timedRuns,
  };
  const script = join(root, 'bench/train/ringrun.js');
  try {
    await run(
      process.execPath,
      ['launch', '--nproc', String(ranks), script, ...args.map(String)],
      environment,
      checkout,
    );
  } finally {
    rmSync(runs, { recursive: true });
  }
}

function onnxruntimeOf(checkout) {
  if (process.env.RINGRUN_ONNXRUNTIME_LIBRARY) return process.env.RINGRUN_ONNXRUNTIME_LIBRARY;
  const { resolve: resolvePackage } = createRequire(join(checkout, 'package.json'));
  const bin = join(dirname(resolvePackage('onnxruntime-node/package.json')), 'bin');
  const [api] = readdirSync(bin);
  return join(bin, api, process.platform, process.arch, 'libonnxruntime.so.1');
}

function pytorch(torch) {
  const script = join(root, 'bench/train/pytorch.py');
  return modesOf(torch, { layouts: ['channels_last'], unfused: options.unfused }).map((mode) => ({
    name: `PyTorch ${torch.version} ${mode.name}`,
    library: 'PyTorch',
    isBfloat16: mode.isBfloat16,
    trainsTogether: true,
    communicates: true,
    train: (model, steps, reports) => {
      const args = [script, mode.name, model, batch, warmUpOf(model, 'pytorch'), steps, reports];
      return runTorchRanks(torch.python, args, ranks);
    },
  }));
}

/** Steps in C that take about as long as ringrun's alone, at most 0.5 s, for 3 s or 2 steps. */
async function measureLimit(limit, stepMs) {
  const [workMs, parts] = [7, 8];
  const repeats = Math.min(64, Math.max(1, Math.round(stepMs / workMs)));
  const steps = Math.max(2, Math.round(3000 / (repeats * workMs * parts)));
  const output = await run(limit, [ranks, steps, repeats].map(String));
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const stepOf = (together) => {
    const own = lines.filter((line) => line.together === together);
    const ofRank = (_, rank) => median(own.filter((line) => line.rank === rank).map(({ ms }) => ms));
    return mean(Array.from({ length: ranks }, ofRank));
  };
  return { apartMs: stepOf(false), togetherMs: stepOf(true) };
}

async function measureTimer() {
  const checkouts = [['now', root], ...(before ? [['before', before]] : [])];
  const lateness = new Map(checkouts.map(([name]) => [name, { idle: [], training: [] }]));
  const processors = String(availableParallelism());
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, checkout] of checkouts) {
      const script = join(root, 'bench/train/timer.js');
      const args = [script, 'resnet18', String(batch), String(timerSteps), checkout];
      const output = await run(process.execPath, args, { OMP_NUM_THREADS: processors }, checkout);
      const { idle, training } = JSON.parse(output);
      lateness.get(name).idle.push(idle);
      lateness.get(name).training.push(training);
    }
  }
  const figures = (all) => ({
    medianMs: median(all.map((late) => median(late))),
    p99Ms: median(all.map((late) => percentile(late, 99))),
    maxMs: Math.max(...all.flat()),
  });
  return [...lateness].flatMap(([name, { idle, training }]) => [
    { name: `${name}, idle`, ...figures(idle) },
    { name: `${name}, training`, ...figures(training) },
  ]);
}

function print(model, { steps, rows, best, skipped, kept, limit }) {
  console.log(
    `\n${model}: ${ranks} ranks, batch ${batch} per rank, ${steps} steps in ${rounds} rounds; medians over rounds`,
  );
  const name = [model, (row) => row.name];
  const column = (head, value, digits) => [head, (row) => shown(value(row), digits)];
  const imagesPerSec = ({ ranks: all }) =>
    all.reduce((sum, { medianMs }) => sum + (1000 * batch) / medianMs, 0);
  const speed = [
    name,
    column('images/s', imagesPerSec),
    column('median ms', (row) => row.medianMs, 4),
    column('mean', (row) => row.meanMs, 4),
    column('p95', (row) => row.p95Ms, 4),
    column('÷ DDP', (row) => row.relativeToDdp),
    column('cpu ms', (row) => row.processorMs, 4),
    column('MB', (row) => row.memoryBytes / 1e6),
  ];
  const spent = [
    name,
    column('kernels ms', (row) => row.kernelMs, 4),
    column('wait ms', (row) => row.waitMs),
    column('other ms', (row) => row.otherMs),
    column('other %', (row) => row.otherShare && 100 * row.otherShare, 2),
    column('other cpu', (row) => row.otherProcessorMs),
    column('faults', (row) => row.minorFaults),
    column('major', (row) => row.majorFaults),
    column('GCs', (row) => row.collections),
    column('major GCs', (row) => row.majorCollections),
    column('GC ms', (row) => row.collectionMs),
  ];
  console.log(`\n${tableOf(rows, speed).join('\n')}\n`);
  const ofRingrun = rows.filter(({ kernelMs }) => kernelMs !== undefined);
  if (ofRingrun.length > 0) console.log(tableOf(ofRingrun, spent).join('\n'));
  console.log(`\n${model}, ${best}`);
  for (const [one, reason] of Object.entries(skipped)) console.log(`skipped ${one}: ${reason}`);
  if (kept === undefined) return;
  console.log(
    `\nDDP keeps ${kept.toFixed(3)} of the speed alone, C processes of equal work keep ${limit.toFixed(3)}: ratio ${(kept / limit).toFixed(3)}`,
  );
}

function printTimer(rows) {
  console.log('\na timer of 5 ms while ResNet-18 trains on all processors in one process: ms late');
  const column = (head, key) => [head, (row) => shown(row[key])];
  const columns = [
    ['timer', (row) => row.name],
    column('median', 'medianMs'),
    column('p99', 'p99Ms'),
    column('most', 'maxMs'),
  ];
  console.log(tableOf(rows, columns).join('\n'));
}

function save(result) {
  if (options.json) writeFileSync(options.json, JSON.stringify(result, null, 2));
}
