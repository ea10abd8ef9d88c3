// The second call on a machine with a GPU: `node compare.js OUT [SECONDS]`. Training steps of ringrun beside PyTorch and JAX, in
// float32 and bfloat16, and NCCL inside the step. Writes a row to OUT/compare.jsonl as soon as it is measured.
//
// All contenders are started first, because torch.compile takes a minute and would disturb measurements. Then those of one training
// and dtype take turns: each round measures every one once, and a row has medians. Precision is PyTorch's default: in float32,
// convolutions may use TF32 and products may not. Both may choose the fastest algorithm by trying (cudnn.benchmark).
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { median } from '../../bench/support.js';
import { Worker } from '../../bench/worker.js';
import { Rows, errorLine } from './rows.js';

const own = fileURLToPath(new URL('.', import.meta.url));
const [out = 'out', seconds = '290'] = process.argv.slice(2);
const isShort = process.env.RINGRUN_CHECK_FORM === 'short';
const form = isShort ? 'short' : 'full';
const startedAt = performance.now();
const left = () => Number(seconds) - (performance.now() - startedAt) / 1000;
const rows = new Rows(out, 'compare.jsonl');
const python = process.env.RINGRUN_CHECK_PYTHON ?? 'python3';

const trainings = isShort ? ['mnist'] : ['mnist', 'cifar', 'gpt', 'resnet18'];
const dtypes = isShort ? ['float32'] : ['float32', 'bfloat16'];
const rounds = isShort ? 1 : 7;
/** Of one measurement: about 0.2 s on an H100. */
const steps = isShort ? { mnist: 2 } : { mnist: 400, cifar: 400, resnet18: 15, gpt: 15 };
/** Seconds in which the contenders must be ready, and which the measurements of ranks need at the end. */
const [startLimit, ranksNeed] = isShort ? [60, 0] : [120, 30];

rows.add({ what: 'machine', detail: machine() });
const contenders = dtypes.flatMap((dtype) => trainings.flatMap((name) => contendersOf(name, dtype)));
await Promise.all(contenders.map(startContender));
rows.add({
  what: 'contenders',
  detail: `started in ${Math.round((performance.now() - startedAt) / 1000)} s`,
});
for (const dtype of dtypes)
  for (const name of trainings)
    await measure(
      `${name} ${dtype}`,
      steps[name],
      contenders.filter((one) => one.name === name && one.dtype === dtype),
    );
for (const { worker } of contenders) worker.end();
for (const worldSize of [1, 2]) await measureRanks(worldSize);
process.exitCode = rows.failures === 0 ? 0 : 1;

function machine() {
  const { stdout } = spawnSync(
    'nvidia-smi',
    ['--query-gpu=name,driver_version,clocks.max.sm', '--format=csv,noheader'],
    {
      encoding: 'utf8',
    },
  );
  const versions = spawnSync(python, ['-c', versionsOfPeers], { encoding: 'utf8' }).stdout;
  return [stdout?.trim() || 'no nvidia-smi', `Node.js ${process.version}`, versions?.trim()]
    .filter(Boolean)
    .join('; ');
}

const versionsOfPeers = `
for name in ("torch", "jax"):
    try: print(name, __import__(name).__version__, end=" ")
    except ImportError: print("no", name, end=" ")`;

function contendersOf(name, dtype) {
  const ringrun = (mode) => ({
    command: process.execPath,
    args: [join(own, 'contender.js'), name, mode, dtype],
    env: { RINGRUN_DEVICE: 'cuda' },
  });
  const peer = (mode) => ({
    command: python,
    args: [join(own, 'peer.py'), name, mode, dtype, form],
    env: {},
  });
  const all = {
    ringrun: ringrun('await'),
    'PyTorch eager': peer('eager'),
    ...(isShort
      ? {}
      : {
          'ringrun each': ringrun('each'),
          'PyTorch compile': peer('compile'),
          'PyTorch graph': peer('graph'),
          ...(name === 'gpt' ? {} : { 'PyTorch graph, channels_last': peer('graph-channels-last') }),
          JAX: peer('jax'),
        }),
  };
  return Object.entries(all).map(([title, one]) => ({ title, name, dtype, ...one }));
}

/** Starts a contender, which warms up; one that fails or needs longer has `problem`. */
async function startContender(contender) {
  const { command, args, env } = contender;
  // JAX would take most of the GPU's memory, and each torch.compile a thread for each processor.
  const more = {
    XLA_PYTHON_CLIENT_PREALLOCATE: 'false',
    TORCHINDUCTOR_COMPILE_THREADS: '4',
    PYTHONUNBUFFERED: '1',
  };
  contender.worker = new Worker(command, args, { ...env, ...more });
  const limitSeconds = Math.min(startLimit, left() - ranksNeed);
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`not ready in ${Math.round(limitSeconds)} s`));
    }, 1000 * limitSeconds);
  });
  try {
    await Promise.race([contender.worker.ready(), late]);
  } catch (error) {
    contender.problem = errorLine(error.message);
    contender.worker.kill();
  } finally {
    clearTimeout(timer);
  }
}

/** Measures the contenders of one training in turns, and adds their rows. */
async function measure(what, count, all) {
  const times = new Map(all.filter(({ problem }) => problem === undefined).map((one) => [one, []]));
  for (let round = 0; round < rounds && left() > ranksNeed; round += 1) {
    const order = round % 2 === 0 ? [...times.keys()] : [...times.keys()].toReversed();
    for (const one of order) {
      const { ms, skipped } = await one.worker
        .ask(JSON.stringify({ steps: count }))
        .catch((error) => ({ skipped: errorLine(error.message) }));
      if (ms === undefined) {
        one.problem = skipped;
        times.delete(one);
      } else times.get(one).push(ms);
    }
  }
  const medians = new Map(
    [...times].filter(([, own]) => own.length > 0).map(([one, own]) => [one.title, median(own)]),
  );
  const ours = Math.min(medians.get('ringrun') ?? Infinity, medians.get('ringrun each') ?? Infinity);
  for (const { title, problem } of all) {
    const row = `${what}, ${title}`;
    const ms = medians.get(title);
    if (ms === undefined) rows.add({ what: row, detail: problem ?? 'no time was left' });
    else if (title.startsWith('ringrun')) rows.add({ what: row, ms });
    else rows.add({ what: row, ringrunMs: ours, peerMs: ms, ratio: ms / ours });
  }
}

/** DDP with the backend nccl; two ranks share the GPU, which NCCL allows to ranks on different hosts. */
async function measureRanks(worldSize) {
  const what = `mnist float32, DDP with NCCL on ${worldSize} ${worldSize === 1 ? 'rank' : 'ranks'} of one GPU`;
  const limitMs = Math.min(40, left()) * 1000;
  if (limitMs < 5000) return rows.add({ what, detail: 'no time was left' });
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-ranks-'));
  const ends = Array.from({ length: worldSize }, (_, rank) =>
    endOfRank(rank, worldSize, join(folder, 'store'), limitMs),
  );
  const [{ stdout, stderr, code }, ...others] = await Promise.all(ends);
  rmSync(folder, { recursive: true, force: true });
  const failed = [code, ...others.map((other) => other.code)].some((one) => one !== 0);
  if (failed)
    return rows.add({ what, ok: false, detail: errorLine(stderr || others[0]?.stderr || 'no output') });
  const { ms, loss, isSame, digest } = JSON.parse(stdout.trim().split('\n').at(-1));
  const computes = /compute on the CPU|runs on the CPU/.test(stderr) ? 'CPU' : 'GPU';
  rows.add({ what, ok: isSame, ms, loss, computes, digest });
}

function endOfRank(rank, worldSize, store, limitMs) {
  const shares =
    worldSize > 1 ? { NCCL_HOSTID: `rank-${rank}`, NCCL_P2P_DISABLE: '1', NCCL_SHM_DISABLE: '1' } : {};
  const child = spawn(process.execPath, [join(own, 'ranks.js'), 'mnist', isShort ? '5' : '300', store], {
    env: { ...process.env, ...shares, RANK: rank, WORLD_SIZE: worldSize, LOCAL_RANK: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (text) => (texts[name] += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...texts });
    });
  });
}
