// The cost of a matrix product in 16-bit formats on this processor, compared with float32, as autocast would run it:
// inputs are cast, multiplied and cast back, and weights are stored in the format.
//
//   node bench/mixed-precision/run.js
//
// Prints the median of rounds in which the formats take turns, in ms of processor time on one thread.
import { createRequire } from 'node:module';
import { ModelProto } from '../../packages/nn/dist/onnx-format/schema.js';

// Resolved from the package that depends on it.
const { InferenceSession, Tensor } = createRequire(new URL('../../packages/nn/', import.meta.url))(
  'onnxruntime-node',
);

const formats = { float32: 1, float16: 10, bfloat16: 16 };
const [rows, inner, columns] = [512, 1024, 1024];
const [rounds, runs] = [9, 5];

const valueInfo = (name, elemType, shape) => ({
  name,
  type: { tensorType: { elemType, shape: { dim: shape.map((dimValue) => ({ dimValue })) } } },
});

/** y = x·w with both cast to the format. The cast of w is a constant, which onnxruntime folds. */
function modelOf(type) {
  const cast = (input, output, to) => ({
    opType: 'Cast',
    input: [input],
    output: [output],
    attribute: [{ name: 'to', type: 2, i: to }],
  });
  const weight = Float32Array.from({ length: inner * columns }, (_, i) => Math.sin(i));
  const product = (a, b, y) => ({ opType: 'MatMul', input: [a, b], output: [y] });
  const node =
    type === formats.float32
      ? [product('x', 'w', 'y')]
      : [cast('x', 'a', type), cast('w', 'b', type), product('a', 'b', 'c'), cast('c', 'y', formats.float32)];
  const graph = {
    name: 'product',
    node,
    initializer: [{ name: 'w', dataType: 1, dims: [inner, columns], rawData: new Uint8Array(weight.buffer) }],
    input: [valueInfo('x', 1, [rows, inner])],
    output: [valueInfo('y', 1, [rows, columns])],
  };
  return ModelProto.encode(
    ModelProto.fromObject({ irVersion: 9, opsetImport: [{ version: 20 }], graph }),
  ).finish();
}

const input = new Tensor(
  Float32Array.from({ length: rows * inner }, (_, i) => Math.cos(i)),
  [rows, inner],
);
const sessions = [];
for (const [name, type] of Object.entries(formats)) {
  try {
    const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
    sessions.push({ name, times: [], session: await InferenceSession.create(modelOf(type), options) });
  } catch (error) {
    console.log(`${name}: onnxruntime cannot run it: ${error.message.split('\n')[0]}`);
  }
}
for (let round = 0; round <= rounds; round += 1) {
  for (const { session, times } of sessions) {
    const start = process.cpuUsage();
    for (let run = 0; run < runs; run += 1) await session.run({ x: input });
    const { user, system } = process.cpuUsage(start);
    if (round > 0) times.push((user + system) / 1000 / runs);
  }
}
console.log(`[${rows}, ${inner}] · [${inner}, ${columns}], one thread`);
for (const { name, times } of sessions) {
  const median = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  console.log(`${name.padEnd(9)} ${median.toFixed(1).padStart(6)} ms`);
}
