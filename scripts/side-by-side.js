// `side-by-side.js SCRIPT …`: runs scripts of package.json in parallel, prints the output of each when it ends, and fails if
// one of them fails.
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';

const codes = await Promise.all(process.argv.slice(2).map(run));
process.exitCode = codes.every((code) => code === 0) ? 0 : 1;

/** Resolves with the exit code; null after a signal. */
function run(script) {
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => output.push(part));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.stdout.write(`> npm run ${script}: ${code === 0 ? 'ok' : (signal ?? `exit code ${code}`)}\n`);
      process.stdout.write(Buffer.concat(output));
      resolve(code);
    });
  });
}
