// `side-by-side.js SCRIPT … LAST`: runs scripts of package.json in parallel, and fails if one of them fails. The output
// of LAST appears as it is written; the others run at a lower priority, on processor time that LAST leaves. Prints the
// output of a script when it ends, and that of a failed one after LAST has ended, where readers look first.
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';

const last = process.argv.at(-1);
const others = process.argv.slice(2, -1);
const results = await Promise.all([run(last, 'inherit'), ...others.map((script) => runBeside(script))]);
for (const { script, end, output } of results) {
  if (end === 0) continue;
  console.log(`> npm run ${script} failed: ${end}`);
  process.stdout.write(output);
  process.exitCode = 1;
}

async function runBeside(script) {
  const result = await run(script, 'pipe', constants.priority.PRIORITY_BELOW_NORMAL);
  console.log(`> npm run ${script}: ${result.end === 0 ? 'ok' : 'failed, see the end'}`);
  if (result.end === 0) process.stdout.write(result.output);
  return result;
}

/** Resolves with the output, and with the exit code or the name of the signal. */
function run(script, output, priority) {
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', output, output] });
  // Its own children inherit it.
  if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
  const parts = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => parts.push(part));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ script, end: code ?? signal, output: Buffer.concat(parts) });
    });
  });
}
