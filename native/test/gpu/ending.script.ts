// Ends while a GPU works for it. Usage: `ending.script.js exit|terminate|settle`
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { loadNative } from '@ringrun/native';

const count = 1 << 18;
const bytes = 4 * count;

const source = `
extern "C" __global__ void addOne(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }`;

/** Starts runs and a copy that are not awaited, and returns the copy's promise. */
function startWork(): Promise<Float32Array> {
  const device = new (loadNative().GpuDevice)(0);
  const module = device.compileSync(source, 'ending.cu');
  const program = device.createProgram({
    ...{ name: 'ending', arenaBytes: 0, slots: [bytes] },
    commands: [
      {
        ...{ kind: 'launch', name: 'addOne_0', module, kernel: 'addOne' },
        ...{ grid: [count / 256, 1, 1], block: [256, 1, 1], arguments: [{ slot: 0 }] },
      },
    ],
  });
  const memory = device.allocate(bytes);
  void device.upload(new Float32Array(count), memory);
  program.bind(0, memory);
  for (let run = 0; run < 40; run += 1) void program.run();
  const found = new Float32Array(count);
  return device.download(memory, found).then(() => found);
}

if (!isMainThread) {
  void startWork();
  parentPort!.postMessage(workerData);
  setInterval(() => undefined, 1000);
} else if (process.argv[2] === 'terminate') {
  const thread = new Worker(fileURLToPath(import.meta.url));
  await once(thread, 'message');
  await thread.terminate();
  // The process goes on.
  console.log((await startWork())[count - 1]);
} else if (process.argv[2] === 'exit') {
  void startWork();
  process.exit(0);
} else {
  // Nothing keeps the process alive but the work.
  void startWork().then((found) => {
    console.log(found[0]);
  });
}
