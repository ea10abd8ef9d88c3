// Clients join one store and pass a barrier:
// `npm run bench:store -- [--clients 1024] [--processes N] [--rounds 5] [--json FILE]`. Each client has its own socket. Few
// processes contain them all, so the benchmark measures the store and not the start of a thousand programs. Default: 4
// processes, or more if each would have more than 1,000 clients.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from '../support.js';

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '1024' },
    processes: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'string' },
  },
});
const clients = Number(options.clients);
/** A ZeroMQ context has at most 1,023 sockets, and a process one context. */
const clientsPerProcess = 1000;
const fewestProcesses = Math.ceil(clients / clientsPerProcess);
const processes = Number(options.processes ?? Math.max(4, fewestProcesses));
if (processes < fewestProcesses)
  throw new Error(
    `bench:store: ${clients} clients need at least ${fewestProcesses} processes, got ${processes}. Omit --processes.`,
  );

/** Running children. They end with this process, however it ends. */
const children = new Set();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const [signal, code] of [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
])
  process.once(signal, () => process.exit(code));

const rows = [];
for (let round = 1; round <= Number(options.rounds); round += 1) {
  const row = { round, ...(await measure()), load: loadavg()[0] };
  rows.push(row);
  console.log(
    `round ${round}  ${clients} clients finish in ${row.ms} ms, store memory ${row.mebibytes.toFixed(0)} MiB, load ${row.load}`,
  );
}
const summary = {
  clients,
  ms: median(rows.map(({ ms }) => ms)),
  mebibytes: Math.max(...rows.map(({ mebibytes }) => mebibytes)),
};
console.log(`median ${summary.ms} ms, peak memory ${summary.mebibytes.toFixed(0)} MiB`);
if (options.json) writeFileSync(options.json, JSON.stringify({ rows, summary }, null, 2));

async function measure() {
  const server = start('server.js', {});
  const PORT = await server.nextLine();
  const groups = shares().map((share) => start('clients.js', { PORT, CLIENTS: share, OF: clients }));
  for (const group of groups) await group.nextLine();
  for (const group of groups) group.tell('go');
  const times = [];
  for (const group of groups) times.push(JSON.parse(await group.nextLine()));
  server.tell('memory');
  const mebibytes = Number(await server.nextLine()) / 2 ** 20;
  for (const one of [server, ...groups]) await one.end();
  const ms =
    Math.max(...times.map(({ throughAt }) => throughAt)) -
    Math.min(...times.map(({ startedAt }) => startedAt));
  return { ms, mebibytes };
}

/** Clients per process, as equal as possible. */
function shares() {
  return Array.from(
    { length: processes },
    (_, i) => Math.floor(clients / processes) + (i < clients % processes ? 1 : 0),
  );
}

function start(script, environment) {
  const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { done, value } = await lines.next();
    if (done) throw new Error(`bench:store: ${script} ended early`);
    return value;
  };
  const end = async () => {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await ended;
  };
  return { nextLine, tell: (text) => child.stdin.write(`${text}\n`), end };
}
