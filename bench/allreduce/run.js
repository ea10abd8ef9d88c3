// All-reduce of processes on one host: `npm run bench:allreduce -- [--ranks 2] [--rounds 3] [--most BYTES] [--before
// CHECKOUT] [--python PYTHON]... [--json FILE] [--only TEXT]`. Each round runs every contender (whose name contains TEXT)
// over all sizes: ringrun, the ringrun of another built checkout (`--before`), ringrun with encryption, each PYTHON's PyTorch
// over gloo and, if it was built with it, UCC (by default the system's Python), Open MPI if mpicc is installed (`apt-get install python3-torch openmpi-bin libopenmpi-dev`), and for two
// ranks two limits in C. A row is the median over all rounds.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compile, freePort, median, run } from '../support.js';
import { runTorchRanks, torchOf } from '../pytorch.js';
import { planOf } from './schedule.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const { values: options } = parseArgs({
  options: {
    ranks: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    most: { type: 'string', default: String(2 ** 28) },
    before: { type: 'string' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    json: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const ranks = Number(options.ranks);
const plan = planOf(Number(options.most), ranks);
const built = mkdtempSync(join(tmpdir(), 'ringrun-bench-'));

const ringrun = (transport, memory, mode) =>
  [undefined, ...(options.before ? [options.before] : [])].map((checkout) => ({
    name: `ringrun ${transport}${memory === 'registered' ? ' registered' : ''}${checkout ? ' before' : ''}`,
    transport,
    mode,
    lines: () =>
      onAllRanks(
        process.execPath,
        ['bench/allreduce/ringrun.js', memory, mode, ...plan],
        { RINGRUN_TRANSPORT: transport },
        checkout,
      ),
  }));

function encrypted(mode) {
  const environment = {
    RINGRUN_TRANSPORT: 'tcp',
    RINGRUN_ENCRYPT: '1',
    RINGRUN_SECRET: 'secret of this benchmark',
  };
  const lines = () =>
    onAllRanks(process.execPath, ['bench/allreduce/ringrun.js', 'any', mode, ...plan], environment);
  return { name: 'ringrun tcp encrypted', transport: 'tcp', mode, lines };
}

try {
  const contenders = [
    ...limits(),
    ...['sync', 'async'].flatMap((mode) => [
      ...ringrun('shm', 'registered', mode),
      ...ringrun('shm', 'any', mode),
      ...ringrun('tcp', 'any', mode),
      encrypted(mode),
    ]),
    ...options.python.flatMap(pytorch),
    ...openMpi(),
  ].filter(({ name, mode }) => `${name}, ${mode}`.includes(options.only));
  const times = new Map(contenders.map((contender) => [contender, new Map()]));
  for (let round = 1; round <= Number(options.rounds); round += 1) {
    for (const contender of contenders) {
      for (const { bytes, times: measured } of await contender.lines()) {
        const known = times.get(contender);
        known.set(bytes, [...(known.get(bytes) ?? []), ...measured]);
      }
    }
    console.error(`round ${round} of ${options.rounds} done`);
  }
  report(contenders.flatMap((contender) => rowsOf(contender, times.get(contender))));
} finally {
  rmSync(built, { recursive: true });
}

function rowsOf({ name, transport, mode }, timesBySize) {
  return [...timesBySize].map(([bytes, all]) => {
    const medianUs = median(all);
    const gbPerSec = bytes / medianUs / 1000;
    return {
      name,
      transport,
      mode,
      bytes,
      medianUs,
      minUs: Math.min(...all),
      maxUs: Math.max(...all),
      gbPerSec,
    };
  });
}

function report(rows) {
  const names = [...new Set(rows.map(({ name, mode }) => `${name}, ${mode}`))];
  console.log(`median µs of an all-reduce, float32 SUM, ${ranks} ranks\n`);
  console.log(`${'bytes'.padStart(11)}  ${names.map((_, i) => `[${i + 1}]`.padStart(10)).join('')}`);
  for (const bytes of new Set(rows.map((row) => row.bytes))) {
    const cells = names.map((name) => {
      const row = rows.find((one) => one.bytes === bytes && `${one.name}, ${one.mode}` === name);
      return (row ? row.medianUs.toPrecision(4) : '-').padStart(10);
    });
    console.log(`${String(bytes).padStart(11)}  ${cells.join('')}`);
  }
  console.log(`\n${names.map((name, i) => `[${i + 1}] ${name}`).join('\n')}`);
  if (options.json) writeFileSync(options.json, JSON.stringify(rows, null, 2));
}

function limits() {
  if (ranks !== 2) return [];
  return [
    limit('limit: adding in shared memory', 'shm', 'limit_shm.c'),
    limit('limit: raw TCP exchange', 'tcp', 'limit_tcp.c'),
  ];
}

function limit(name, transport, source) {
  const program = compile(`bench/allreduce/${source}`, built);
  return { name, transport, mode: 'sync', lines: async () => parse(await run(program, plan)) };
}

function pytorch(python) {
  const torch = torchOf(python);
  if (torch === undefined) return [];
  if (!torch.hasUcc) console.error(`PyTorch ${torch.version} was built without UCC: measuring gloo only`);
  return ['gloo', ...(torch.hasUcc ? ['ucc'] : [])].map((backend) => ({
    name: `PyTorch ${torch.version} ${backend}`,
    transport: 'tcp',
    mode: 'sync',
    lines: async () => {
      const [output] = await runTorchRanks(python, [join(here, 'pytorch.py'), backend, ...plan], ranks);
      return parse(output);
    },
  }));
}

function openMpi() {
  if (!isThere('mpicc', ['--version'])) return [];
  const program = compile('bench/allreduce/mpi.c', built, { compiler: 'mpicc', flags: [] });
  const start = ['--allow-run-as-root', '--oversubscribe', '-n', String(ranks)];
  const over = (transport, layers) => ({
    name: 'Open MPI',
    transport,
    mode: 'sync',
    lines: async () => parse(await run('mpirun', [...start, '--mca', 'btl', layers, program, ...plan])),
  });
  return [over('shm', 'self,vader'), over('tcp', 'self,tcp')].map((contender) => ({
    ...contender,
    name: `${contender.name} ${contender.transport}`,
  }));
}

async function onAllRanks(command, args, environment, folder) {
  const port = await freePort();
  const outputs = await Promise.all(
    Array.from({ length: ranks }, (_, rank) =>
      run(
        command,
        args,
        {
          ...environment,
          RANK: String(rank),
          WORLD_SIZE: String(ranks),
          MASTER_ADDR: '127.0.0.1',
          MASTER_PORT: String(port),
        },
        folder,
      ),
    ),
  );
  return parse(outputs[0]);
}

function parse(output) {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

function isThere(command, args) {
  const there = spawnSync(command, args).status === 0;
  if (!there) console.error(`${command} ${args.join(' ')} failed: measuring without it`);
  return there;
}
