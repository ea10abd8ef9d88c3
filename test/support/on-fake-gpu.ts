import { beforeEach } from 'vitest';
import { fakeComputeLibraries } from '../../native/test/fake-gpu/libraries.ts';
import { fillAllocatedMemory } from '../../native/test/gpu/undefined-memory.ts';

// Graphs of every test, and of the processes that it starts, compute on the fake GPU of native/test/fake-gpu, if the test does not
// select a device.
Object.assign(process.env, fakeComputeLibraries(), { RINGRUN_DEVICE: 'cuda', TEST_DEVICE: 'cuda' });
fillAllocatedMemory();

/** Why tests cannot pass on a GPU, by the end of their file and then by a part of their full name; '' is all of them. */
const ofTheCpu: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'compiler/anomaly.test.ts': {
    'only in the compiled order of operations': 'the order is that of a transformed convolution of the CPU',
  },
  'compiler/clip-norm.test.ts': {
    'p = 3.3 bit-identically': 'the host computes powers, with other bits than a GPU',
    'bit-identical to the whole norm: p = 3.3': 'the part with collectives runs on the CPU, with other bits',
    'is one program, reused': 'it counts compilations of onnxruntime',
  },
  'compiler/program-cache.test.ts': { '': 'it counts compilations of onnxruntime' },
  'compiler/segments.test.ts': { '': 'only the executor of the CPU runs graphs as segments' },
  'compiler/slow-compilation.test.ts': {
    'without passes of quadratic cost': 'the passes are those of onnxruntime',
  },
  'compiled-step/compile-step.test.ts': {
    'is one program, reused': 'it counts compilations of onnxruntime',
  },
  'compiled-step/steps-together.test.ts': { 'run in groups of': 'it counts runs of onnxruntime' },
  'engine/backward.test.ts': {
    'a failed run keeps earlier gradients': 'the error of a class out of range is that of onnxruntime',
  },
  'engine/read-sync.test.ts': {
    'compiles a shape once': 'it counts compilations of onnxruntime',
    'without a turn of the event loop': 'the memory of the fake GPU is memory of the process',
    'with an unusable library': 'the library is that of onnxruntime',
  },
  'engine/thread-scheduling.test.ts': { '': 'the threads are those of onnxruntime' },
  'engine/values-of-steps.test.ts': {
    'compiled into the program once': 'it counts compilations of onnxruntime',
  },
  'functional/activation-checkpoint.test.ts': {
    'of the memory': 'it measures the memory of a process, not that of a GPU',
  },
  'functional/embedding-bag.test.ts': {
    'do not recompile': 'it counts compilations of onnxruntime',
    'rejects offsets that decrease':
      'the message of the CPU has both offsets, that of a kernel one and its index',
  },
  'functional/text-lengths.test.ts': { '': 'it measures the memory of a process, not that of a GPU' },
  'nn/batch-norm.test.ts': {
    'by one program': 'it counts compilations of onnxruntime',
    'not by a failed run': 'the error of a class out of range is that of onnxruntime',
  },
  'nn/module.test.ts': {
    'draws a new mask at every forward in one program': 'it counts compilations of onnxruntime',
  },
  'ops/own/attention.test.ts': {
    'memory grows linearly': 'it measures the memory of a process, not that of a GPU',
  },
  'ops/own/bfloat16.test.ts': { '': 'the operators are those of onnxruntime' },
  'test/compile-step.test.ts': {
    'several steps in one call': 'a GPU runs each step on its own, so the error names one step',
  },
  'test/sync-batch-norm.test.ts': {
    'without JavaScript': 'a program of a GPU with a group of gloo ends before each collective',
  },
  'ops/own/recurrence.test.ts': { 'other lengths do not recompile': 'it counts compilations of onnxruntime' },
};

beforeEach(({ task, skip }) => {
  const file = Object.keys(ofTheCpu).find((end) => task.file.filepath.endsWith(end));
  if (file === undefined) return;
  const names = [task.name];
  for (let { suite } = task; suite; { suite } = suite) names.unshift(suite.name);
  const fullName = names.join(' ');
  const reason = Object.entries(ofTheCpu[file]).find(([part]) => fullName.includes(part))?.[1];
  if (reason !== undefined) skip(reason);
});
