// What is loaded of files that do not have exactly the model's weights, and what is reported.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BFloat16Bits, Float16Bits } from '@ringrun/core';
import { decodeSafetensors, encodeSafetensors, type ArrayWithShape } from 'ringrun';
import { describe, expect, test, vi } from 'vitest';
import {
  BertForSequenceClassification,
  BertModel,
  GPT2LMHeadModel,
  GPT2Model,
  ResNetForImageClassification,
  fromPretrained,
  savePretrained,
  type FromPretrainedOptions,
  type KnownModel,
  type LoadingInfo,
  type PretrainedModel,
} from '../../src/index.ts';
import { expectNumbersClose, goldenFolder } from '../support/golden.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
type Tensors = Map<string, ArrayWithShape>;

function weightsOf(name: string): Tensors {
  return decodeSafetensors(Uint8Array.from(readFileSync(join(goldenFolder(name), 'model.safetensors'))));
}

/** A folder with the configuration of a model and other files. */
function modelWith(name: string, base: string, files: Readonly<Record<string, Uint8Array | string>>): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  copyFileSync(join(goldenFolder(base), 'config.json'), join(path, 'config.json'));
  for (const [file, contents] of Object.entries(files)) writeFileSync(join(path, file), contents);
  return path;
}

function renamed(tensors: Tensors, rename: (key: string) => string): Tensors {
  return new Map([...tensors].map(([key, value]) => [rename(key), value]));
}

/** Loads a model, and what was not loaded. */
async function loaded<M extends PretrainedModel = KnownModel>(
  path: string,
  options: FromPretrainedOptions<M> = {},
) {
  let info: LoadingInfo | undefined;
  const model = await fromPretrained(path, { ...options, onLoadingInfo: (found) => (info = found) });
  return { model, info: info! };
}

const nothing: LoadingInfo = { missingKeys: [], unexpectedKeys: [], mismatchedKeys: [] };

describe('weights', () => {
  test('are read from the files of an index', async () => {
    const all = [...weightsOf('bert')];
    const [a, b] = [all.slice(0, 20), all.slice(20)];
    const files = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
    const path = modelWith('sharded', 'bert', {
      [files[0]]: encodeSafetensors(new Map(a)),
      [files[1]]: encodeSafetensors(new Map(b)),
      'model.safetensors.index.json': JSON.stringify({
        metadata: {},
        weight_map: Object.fromEntries(all.map(([key], i) => [key, files[i < 20 ? 0 : 1]])),
      }),
    });
    const { model, info } = await loaded(path);
    expect(info).toEqual(nothing);
    expect(model.stateDict()).toEqual((await loaded(goldenFolder('bert'))).model.stateDict());
  });

  test.each([
    ['bfloat16', (data: Float32Array) => BFloat16Bits.fromFloat32(data), 2 ** -8],
    ['float16', (data: Float32Array) => Float16Bits.fromFloat32(data), 2 ** -11],
  ])('of %s are converted to float32', async (name, convert, precision) => {
    const weights = weightsOf('bert');
    const narrow = [...weights].map(
      ([key, { shape, data }]) => [key, { shape, data: convert(data as Float32Array) }] as const,
    );
    const path = modelWith(name, 'bert', { 'model.safetensors': encodeSafetensors(new Map(narrow)) });
    const { model } = await loaded(path);
    for (const [key, { data }] of model.stateDict())
      expectNumbersClose(data, [...(weights.get(key)!.data as Float32Array)], precision);
  });

  test('of old files have the names of TensorFlow, and buffers that no model has', async () => {
    const old = renamed(weightsOf('bert'), (key) =>
      key.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta'),
    );
    old.set('bert.embeddings.position_ids', { shape: [1, 2], data: BigInt64Array.of(0n, 1n) });
    const path = modelWith('old', 'bert', { 'model.safetensors': encodeSafetensors(old) });
    const { model, info } = await loaded(path);
    expect(info).toEqual(nothing);
    expect(model.stateDict()).toEqual((await loaded(goldenFolder('bert'))).model.stateDict());
  });

  test('of GPT-2 have no prefix on the hub, masks, and sometimes the tied weight twice', async () => {
    const old = renamed(weightsOf('gpt2'), (key) => key.replace('transformer.', ''));
    old.set('h.0.attn.bias', { shape: [1, 1, 2, 2], data: Float32Array.of(1, 0, 1, 1) });
    old.set('lm_head.weight', old.get('wte.weight')!);
    const path = modelWith('gpt2-old', 'gpt2', { 'model.safetensors': encodeSafetensors(old) });
    const { model, info } = await loaded(path, { model: GPT2LMHeadModel });
    expect(info).toEqual(nothing);
    expect(model.stateDict()).toEqual((await loaded(goldenFolder('gpt2'))).model.stateDict());
    const base = await loaded(path, { model: GPT2Model });
    expect(base.info).toEqual({ ...nothing, unexpectedKeys: ['lm_head.weight'] });
  });

  test('of a model with a head give a model without one, and the reverse', async () => {
    const { model: base, info } = await loaded(goldenFolder('bert'), { model: BertModel });
    expect(info.unexpectedKeys).toEqual(['classifier.bias', 'classifier.weight']);
    const path = join(folder, 'base');
    await savePretrained(base, path);
    const { model, info: again } = await loaded(path, { model: BertForSequenceClassification, numLabels: 5 });
    expect(again).toEqual({ ...nothing, missingKeys: ['classifier.weight', 'classifier.bias'] });
    expect(model.classifier.weight.shape).toEqual([5, 32]);
    expect(model.bert.stateDict()).toEqual(base.stateDict());
    expect(Object.keys(model.config.id2label!)).toHaveLength(5);
  });

  test('that are missing or not used are printed by name, once for all ranks', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const path = join(folder, 'base-warning');
    await savePretrained(await fromPretrained(goldenFolder('bert'), { model: BertModel }), path);
    await fromPretrained(path, { model: BertForSequenceClassification });
    const lines = warn.mock.calls.map(([line]) => line as string);
    expect(lines[0]).toContain(
      'that BertModel does not have were not used: classifier.bias, classifier.weight.',
    );
    expect(lines[1]).toMatch(
      /not in .*base-warning were initialized randomly: classifier.weight, classifier.bias\./,
    );
    vi.stubEnv('RANK', '1');
    await fromPretrained(path, { model: BertForSequenceClassification });
    vi.unstubAllEnvs();
    expect(warn).toHaveBeenCalledTimes(2);
    warn.mockRestore();
  });

  test('of another number of classes are an error, or stay random', async () => {
    await expect(fromPretrained(goldenFolder('bert'), { numLabels: 2 })).rejects.toThrow(
      /classifier.bias \(\[3\] in the file, \[2\] in the model\).*Pass ignoreMismatchedSizes: true/,
    );
    const { model, info } = await loaded(goldenFolder('bert'), {
      model: BertForSequenceClassification,
      numLabels: 2,
      ignoreMismatchedSizes: true,
    });
    expect(info.mismatchedKeys.map(({ key }) => key)).toEqual(['classifier.bias', 'classifier.weight']);
    expect(info.missingKeys).toEqual([]);
    expect(model.classifier.weight.shape).toEqual([2, 32]);
  });

  test('that Python pickled are refused with the way to convert them', async () => {
    const path = modelWith('pickled', 'bert', { 'pytorch_model.bin': '' });
    await expect(fromPretrained(path)).rejects.toThrow(
      /got only pytorch_model.bin, .* convert it in Python: AutoModel.from_pretrained\(".*pickled"\).save_pretrained/,
    );
  });
});

describe('settings', () => {
  test('of an unknown model are refused with the known ones', async () => {
    const path = modelWith('unknown', 'bert', { 'config.json': '{"model_type":"mamba"}' });
    await expect(fromPretrained(path)).rejects.toThrow(
      'expected a config.json with a model_type of bert, distilbert, gpt2, resnet, got "mamba"',
    );
  });

  test('of another class than the requested one are refused', async () => {
    await expect(fromPretrained(goldenFolder('gpt2'), { model: BertModel })).rejects.toThrow(
      'expected a model of BertModel (model_type bert), got "gpt2"',
    );
  });

  test.each([
    [{ hidden_size: '32' }, 'hidden_size: expected a number, got "32".'],
    [
      { hidden_size: 30 },
      'expected a width that is a multiple of the number of attention heads, got 30 and 4.',
    ],
    [{ is_decoder: true }, 'is_decoder: expected false, got true, which ringrun does not support.'],
    [{ hidden_act: 'maxout' }, 'expected an activation of gelu, gelu_fast'],
  ])('%j are refused', async (config, message) => {
    await expect(fromPretrained(goldenFolder('bert'), { config })).rejects.toThrow(message);
  });

  test('given to fromPretrained replace those of the file', async () => {
    const { model } = await loaded(goldenFolder('bert'), {
      model: BertForSequenceClassification,
      config: { hidden_dropout_prob: 0.3 },
    });
    expect(model.dropout.extraRepr()).toContain('p=0.3');
  });
});

describe('savePretrained', () => {
  test.each(['bert', 'distilbert', 'gpt2', 'resnet-basic'])(
    '%s is read again with all its settings',
    async (name) => {
      const model = await fromPretrained(goldenFolder(name));
      const path = join(folder, `saved-${name}`);
      await savePretrained(model, path);
      const again = await loaded(path);
      expect(again.info).toEqual(nothing);
      expect(again.model.constructor).toBe(model.constructor);
      expect(again.model.stateDict()).toEqual(model.stateDict());
      expect(again.model.config).toEqual(model.config);
      const read = (at: string) => JSON.parse(readFileSync(join(at, 'config.json'), 'utf8')) as object;
      expect(read(path)).toEqual({ ...read(path), ...read(goldenFolder(name)) });
      const header = readFileSync(join(path, 'model.safetensors')).toString('latin1');
      expect(header.slice(8)).toMatch(/^\{"__metadata__":\{"format":"pt"\}/);
    },
  );

  test('counts of batches are integers, as in PyTorch', async () => {
    const model = await fromPretrained(goldenFolder('resnet-basic'), { model: ResNetForImageClassification });
    const path = join(folder, 'counts');
    await savePretrained(model, path);
    const saved = decodeSafetensors(Uint8Array.from(readFileSync(join(path, 'model.safetensors'))));
    const { data } = saved.get('resnet.embedder.embedder.normalization.num_batches_tracked')!;
    expect(data).toEqual(BigInt64Array.of(0n));
  });
});
