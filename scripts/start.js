// `npm start`: trains the MNIST example on two processes. If MNIST cannot be downloaded, it warns and uses synthetic digits.
// The packages run from their TypeScript sources, so only the addon is compiled.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setUpTraining } from './setup.js';

await setUpTraining('@ringrun/examples-mnist');

const typescript = new URL('start/typescript.js', import.meta.url);
const script = fileURLToPath(new URL('start/train-mnist.js', import.meta.url));
const { status } = spawnSync(process.execPath, [script, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: {
    ...process.env,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --conditions=source --import=${typescript}`,
  },
});
process.exitCode = status ?? 1;
