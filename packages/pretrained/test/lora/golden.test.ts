// Adapters of PEFT compute and learn here what they do in PEFT: see golden/make.py.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { F, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { describe, expect, test } from 'vitest';
import {
  fromPretrained,
  loadAdapter,
  lora,
  loraStateDict,
  merge,
  mergeAndUnload,
  saveAdapter,
  savePretrained,
  unmerge,
} from '../../src/index.ts';
import {
  expectClose,
  expectStep,
  expectedOf,
  goldenFolder,
  images,
  languageLoss,
  tensorOf,
} from '../support/golden.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
const of = (name: string, key: string) => tensorOf(expectedOf(name)[key]);
const [ids, mask, types, labels] = [
  of('bert', 'inputIds'),
  of('bert', 'attentionMask'),
  of('bert', 'tokenTypeIds'),
  of('bert', 'labels'),
];

interface Case {
  readonly name: string;
  readonly base: string;
  readonly inputs: readonly Tensor[];
  readonly lossOf?: (logits: Tensor) => Tensor;
}

const cases: readonly Case[] = [
  {
    name: 'bert-lora',
    base: 'bert',
    inputs: [ids, mask, types],
    lossOf: (logits) => F.crossEntropy(logits, labels),
  },
  {
    name: 'gpt2-lora',
    base: 'gpt2',
    inputs: [ids, mask],
    lossOf: (logits) => languageLoss(logits, ids, mask),
  },
  {
    name: 'distilbert-lora',
    base: 'distilbert',
    inputs: [ids, mask],
    lossOf: (logits) => F.crossEntropy(logits, labels),
  },
  { name: 'resnet-lora', base: 'resnet-basic', inputs: [images()] },
];

/** PEFT's names of the trained model as those of the model here. */
function keyOf(key: string): string {
  return key
    .replace('base_model.model.', '')
    .replace('.default', '')
    .replace('.modules_to_save', '')
    .replace('lm_head.weight', 'transformer.wte.weight');
}

type Scorer = nn.Module & { forward(...inputs: readonly Tensor[]): Tensor };

async function adapted({ name, base }: Case): Promise<Scorer> {
  const model = (await fromPretrained(goldenFolder(base))) as unknown as Scorer;
  return await loadAdapter(model, goldenFolder(name), { trainable: true });
}

describe.each(cases)('$name', (one) => {
  const { name, inputs, lossOf } = one;
  const expected = expectedOf(name);

  test('computes what PEFT does, merged too, and unmerge restores every bit', async () => {
    const model = await adapted(one);
    expectClose(model.forward(...inputs), expected['logits']);
    const before = model.stateDict();
    merge(model);
    expect(model.stateDict()).not.toEqual(before);
    if (!lossOf) expectClose(model.forward(...inputs), expected['mergedLogits']);
    expectClose(model.forward(...inputs), expected['logits']);
    expect(unmerge(model).stateDict()).toEqual(before);
    expectClose(model.forward(...inputs), expected['logits']);
  });

  test('trains only what PEFT trains', async () => {
    const trained = (await adapted(one)).parameters().filter(({ requiresGrad }) => requiresGrad);
    const count = trained.reduce((sum, { data }) => sum + data.length, 0);
    expect(count).toBe(expected.trained);
  });

  test.runIf(lossOf)('learns what PEFT does in one step', async () => {
    const model = await adapted(one);
    const { loss, state } = expected.step;
    const own = Object.entries(state).filter(([key]) => !key.includes('original_module'));
    const lossNow = () => lossOf!(model.forward(...inputs));
    await expectStep(model, lossNow, { loss, state: Object.fromEntries(own) }, keyOf);
    model.eval();
    expectClose(model.forward(...inputs), expected['logitsAfterStep'], 5e-5);
    const plain = mergeAndUnload(model);
    expectClose(plain.forward(...inputs), expected['mergedLogits'], 5e-5);
    expect([...plain.stateDict().keys()].filter((key) => /lora|base_layer/.test(key))).toEqual([]);
  });

  test('is saved in the format of PEFT, and read again', async () => {
    const model = await adapted(one);
    const path = join(folder, name);
    await saveAdapter(model, path, { baseModel: one.base });
    const again = await loadAdapter(
      (await fromPretrained(goldenFolder(one.base))) as unknown as Scorer,
      path,
    );
    expect(loraStateDict(again)).toEqual(loraStateDict(model));
    const config = (at: string) =>
      JSON.parse(readFileSync(join(at, 'adapter_config.json'), 'utf8')) as Record<string, unknown>;
    const { modules_to_save: saved, target_modules: targets, ...others } = config(path);
    const ofPeft = config(goldenFolder(name));
    expect(ofPeft).toMatchObject(others);
    expect(new Set(targets as string)).toEqual(new Set(ofPeft['target_modules'] as string));
    expect(saved && new Set(saved as string[])).toEqual(
      ofPeft['modules_to_save'] && new Set(ofPeft['modules_to_save'] as string[]),
    );
    expect(again.parameters().filter(({ requiresGrad }) => requiresGrad)).toEqual([]);
  });
});

describe('lora', () => {
  class Net extends nn.Module {
    readonly first = new nn.Sequential(new nn.Linear(4, 6), new nn.ReLU());
    readonly second = new nn.ModuleList([new nn.Linear(6, 6)]);
    readonly head = new nn.Linear(6, 2);

    forward(x: Tensor): Tensor {
      return this.head.forward(this.second[0].forward(this.first.forward(x)));
    }
  }
  const x = tensor(
    Float32Array.from({ length: 12 }, (_, i) => Math.sin(i)),
    [3, 4],
  );

  test('changes no output of a model of your own at first, and trains adapters and saved modules', async () => {
    const model = new Net();
    const before = await model.forward(x).array();
    const frozen = model.getSubmodule('first.0').stateDict();
    expect(
      lora(model, { rank: 2, alpha: 4, targetModules: /first\.0|second\..*/, modulesToSave: ['head'] }),
    ).toBe(model);
    expect(await model.forward(x).array()).toEqual(before);
    const trained = model.namedParameters().filter(([, { requiresGrad }]) => requiresGrad);
    expect(trained.map(([key]) => key)).toEqual([
      'first.0.lora_A.weight',
      'first.0.lora_B.weight',
      'second.0.lora_A.weight',
      'second.0.lora_B.weight',
      'head.weight',
      'head.bias',
    ]);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.1 });
    const losses: number[] = [];
    for (let step = 0; step < 10; step += 1) {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.forward(x), tensor(BigInt64Array.of(0n, 1n, 0n)));
      await loss.backward();
      await optimizer.step();
      losses.push(await loss.item());
    }
    expect(losses.at(-1)).toBeLessThan(losses[0] / 2);
    const layer = model.getSubmodule('first.0.base_layer');
    expect(layer.stateDict()).toEqual(frozen);
  });

  test("'all-linear' is every linear layer except saved modules", () => {
    const model = lora(new Net(), { targetModules: 'all-linear', modulesToSave: ['head'], dropout: 0.5 });
    expect([...loraStateDict(model).keys()]).toEqual([
      'base_model.model.first.0.lora_A.weight',
      'base_model.model.first.0.lora_B.weight',
      'base_model.model.second.0.lora_A.weight',
      'base_model.model.second.0.lora_B.weight',
      'base_model.model.head.weight',
      'base_model.model.head.bias',
    ]);
  });

  test.each([
    [{}, 'targetModules: expected names of modules'],
    [{ targetModules: ['query'] }, 'expected modules that match targetModules query, found none'],
    [{ targetModules: ['first'] }, 'got Sequential for first'],
    [{ targetModules: ['head'], rank: 0 }, 'rank: expected a positive integer, got 0'],
    [{ targetModules: ['head'], dropout: 1 }, 'dropout: expected a probability below 1, got 1'],
    [{ targetModules: ['head'], modulesToSave: ['none'] }, 'modulesToSave none, found none'],
  ])('refuses %j and changes nothing', (options, message) => {
    const model = new Net();
    const keys = [...model.stateDict().keys()];
    expect(() => lora(model, options)).toThrow(message);
    expect([...model.stateDict().keys()]).toEqual(keys);
    expect(model.parameters().every(({ requiresGrad }) => requiresGrad)).toBe(true);
  });

  test('refuses a second adapter, and savePretrained and merge refuse what does not fit', async () => {
    const model = lora(await fromPretrained(goldenFolder('bert')));
    expect(() => lora(model)).toThrow('expected a model without adapters');
    await expect(savePretrained(model, join(folder, 'refused'))).rejects.toThrow(
      'mergeAndUnload(model) first',
    );
    expect(() => merge(new Net())).toThrow('merge: expected a model with adapters, got one without.');
  });

  test('loadAdapter refuses an adapter of another model and restores the model', async () => {
    const model = new Net();
    await expect(loadAdapter(model, goldenFolder('bert-lora'))).rejects.toThrow('found none');
    const wide = await fromPretrained(goldenFolder('bert'), {
      config: { num_hidden_layers: 1 },
      onLoadingInfo: () => undefined,
    });
    const keys = [...wide.stateDict().keys()];
    await expect(loadAdapter(wide, goldenFolder('bert-lora'))).rejects.toThrow(
      'does not match the model: unexpected: base_model.model.bert.encoder.layer.1',
    );
    expect([...wide.stateDict().keys()]).toEqual(keys);
    expect(wide.parameters().every(({ requiresGrad }) => requiresGrad)).toBe(true);
  });
});
