import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadSafetensors } from 'ringrun';
import { expect, test } from 'vitest';
import { F, nn, tensor, type Tensor } from '../../src/index.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

// Files and results of PyTorch, as written by `test/golden/state_dict.py`.

const folder = new URL('../../../../test/golden/', import.meta.url);
const file = fileURLToPath(new URL('state_dict.safetensors', folder));
const golden = JSON.parse(readFileSync(new URL('state_dict.json', folder), 'utf8')) as {
  state: Record<string, { shape: number[]; data: number[] }>;
  output: number[];
};

class Net extends nn.Module {
  readonly conv_in = new nn.Conv2d(1, 3, 3);
  readonly bn1 = new nn.BatchNorm2d(3);
  readonly fc_out = new nn.Linear(3, 2);

  forward(x: Tensor): Tensor {
    return this.fc_out.forward(F.relu(this.bn1.forward(this.conv_in.forward(x))).mean([2, 3]));
  }
}

test('loads the numbers of a PyTorch file with batch norm, BF16, F16, F64 and I64', async () => {
  const net = new Net();
  expect(net.loadStateDict(await loadSafetensors(file))).toEqual({ missingKeys: [], unexpectedKeys: [] });
  const state = Object.entries(golden.state);
  expect([...net.stateDict()].map(([key]) => key).sort()).toEqual(state.map(([key]) => key).sort());
  for (const [key, { shape, data }] of state) {
    expect(net.stateDict().get(key), key).toEqual({ shape, data: Float32Array.from(data) });
  }
  const input = Float32Array.from({ length: 36 }, (_, place) => place / 36);
  const output = await net
    .eval()
    .forward(tensor(input, [1, 1, 6, 6]))
    .array();
  expectClose('output', output, Float32Array.from(golden.output), 1e-6);
});

test('converts integers, booleans and float64 to the same float32 numbers as torch', () => {
  class Two extends nn.Module {
    readonly weight = new nn.Linear(2, 1, { bias: false }).weight;
  }
  for (const data of [
    Float64Array.of(1 / 3, -2),
    BigInt64Array.of(2n ** 24n + 1n, -2n),
    BigUint64Array.of(1n, 2n),
    Int32Array.of(-7, 8),
    Uint8Array.of(0, 1),
    Uint16Array.of(0x3f80, 1),
  ]) {
    const net = new Two();
    net.loadStateDict({ weight: { shape: [1, 2], data } });
    expect(net.weight.data).toEqual(Float32Array.from([...data], Number));
  }
});

test('rejects keys with the prefix module. and names the call that removes it', async () => {
  const wrapped = new Map(
    [...(await loadSafetensors(file))].map(([key, stored]) => [`module.${key}`, stored]),
  );
  const net = new Net();
  expect(() => net.loadStateDict(wrapped)).toThrow(
    "Every key begins with 'module.', which PyTorch's DistributedDataParallel adds. " +
      "Use loadStateDict(nn.utils.consumePrefixInStateDictIfPresent(state, 'module.')).",
  );
  net.loadStateDict(nn.utils.consumePrefixInStateDictIfPresent(wrapped, 'module.'));
  expect(net.fc_out.bias!.data).toEqual(Float32Array.from(golden.state['fc_out.bias'].data));
});
