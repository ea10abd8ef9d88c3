// Matrix products on one thread, compared with PyTorch and with what the processor computes in registers: `npm run
// bench:products -- [--sizes 1024x1024x1024,2048x384x1536,768x128x512] [--rounds 5] [--python PYTHON]... [--only TEXT]...`.
//
// A size is rows × inner × columns. A row is a chain of products in one program: [rows, inner] by [inner, columns], and the
// result by [columns, inner], because each product then reads what the one before it wrote. Every round measures each row
// (whose name contains a TEXT) once, and the loops of loops.cc; figures are medians over the rounds of operations per
// processor time. A row's
// loop is the fastest one for its type: FMA for float32, and for bfloat16 AMX, else AVX512_BF16, else FMA.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bestLine } from '../best.js';
import { printMachine } from '../machine.js';
import { pythonEnvironment, torchOf } from '../pytorch.js';
import { compile, isChosen, median } from '../support.js';
import { shown, tableOf } from '../table.js';
import { Worker } from '../worker.js';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1024x1024x1024,2048x384x1536,768x128x512' },
    rounds: { type: 'string', default: '5' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const loopNames = ['fma', 'vdpbf16', 'tdpbf16'];
/** Operations of one program: enough that its start takes less than 2% of it. */
const operationsOfProgram = 8e9;

const torches = options.python.flatMap((python) => torchOf(python) ?? []);
const folder = mkdtempSync(join(tmpdir(), 'ringrun-products-'));
const workers = [];
try {
  printMachine(torches);
  const loops = await start(compile('bench/products/loops.cc', folder, { compiler: 'c++', flags: [] }), []);
  const own = await start(process.execPath, ['bench/products/ringrun.js']);
  const peers = await Promise.all(torches.map(({ python }) => start(python, ['bench/products/pytorch.py'])));
  const rows = [false, true].flatMap((bfloat16) => [
    ...['matmul', 'linear'].map((way) => rowOf('ringrun', 'ringrun', own, way, bfloat16)),
    ...torches.flatMap((torch, index) => {
      const worker = peers[index];
      return ['mm', 'linear'].map((way) =>
        rowOf(`PyTorch ${torch.version}`, 'PyTorch', worker, way, bfloat16),
      );
    }),
  ]);
  const chosen = rows.filter(({ name }) => isChosen(name, options.only));
  for (const size of options.sizes.split(',')) await measure(size, chosen, loops);
} finally {
  for (const worker of workers) worker.end();
  rmSync(folder, { recursive: true });
}

async function start(command, args) {
  const worker = await Worker.start(command, args, pythonEnvironment);
  workers.push(worker);
  return worker;
}

function rowOf(title, library, worker, way, isBfloat16) {
  const name = `${title} ${way}, ${isBfloat16 ? 'bfloat16' : 'float32'}`;
  return { name, library, worker, way, isBfloat16 };
}

async function measure(size, contenders, loops) {
  const [rows, inner, columns] = size.split('x').map(Number);
  const operationsOfPair = 4 * rows * inner * columns;
  const pairs = Math.max(1, Math.min(32, Math.round(operationsOfProgram / operationsOfPair)));
  const measured = contenders.map((contender) => ({ ...contender, times: [] }));
  const speeds = new Map(loopNames.map((name) => [name, []]));
  const skipped = new Map();
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const name of loopNames) {
      const { gigaflops, skipped: reason } = await loops.ask(name);
      if (reason === undefined) speeds.get(name).push(gigaflops);
      else skipped.set(`loop ${name}`, reason);
    }
    for (const row of round % 2 === 0 ? measured : measured.toReversed()) {
      if (skipped.has(row.name)) continue;
      const question = { way: row.way, rows, inner, columns, bfloat16: row.isBfloat16, pairs };
      const { milliseconds, skipped: reason } = await row.worker.ask(JSON.stringify(question));
      if (reason === undefined) row.times.push(milliseconds / pairs / 2);
      else skipped.set(row.name, reason);
    }
  }
  print(
    size,
    measured.filter(({ times }) => times.length > 0),
    speeds,
    operationsOfPair / 2,
  );
  for (const [name, reason] of skipped) console.log(`skipped ${name}: ${reason}`);
}

function print(size, rows, speeds, operations) {
  const speedOf = (times) => operations / median(times) / 1e6;
  const loopOf = (isBfloat16) => {
    const names = isBfloat16 ? ['tdpbf16', 'vdpbf16', 'fma'] : ['fma'];
    return names.find((name) => speeds.get(name).length > 0);
  };
  const peerOf = (isBfloat16) =>
    Math.max(
      ...rows
        .filter((row) => row.library === 'PyTorch' && row.isBfloat16 === isBfloat16)
        .map(({ times }) => speedOf(times)),
    );
  const loopRows = loopNames
    .filter((name) => speeds.get(name).length > 0)
    .map((name) => ({ name: `loop ${name}`, speed: median(speeds.get(name)) }));
  const productRows = rows.map(({ name, times, isBfloat16 }) => {
    const speed = speedOf(times);
    const loop = loopOf(isBfloat16);
    const peer = peerOf(isBfloat16);
    return {
      name,
      speed,
      ofLoop: loop && speed / median(speeds.get(loop)),
      ofPeer: Number.isFinite(peer) ? speed / peer : undefined,
    };
  });
  const lines = tableOf(
    [...loopRows, ...productRows],
    [
      [size, ({ name }) => name],
      ['GFLOP/s', ({ speed }) => shown(speed)],
      ['÷ loop', ({ ofLoop }) => shown(ofLoop, 2)],
      ['÷ PyTorch', ({ ofPeer }) => shown(ofPeer, 3)],
    ],
  );
  console.log(`\n${lines.join('\n')}\n\n${size}, ${bestLine(rows)}`);
}
