// The models compute what transformers does: see golden/make.py.
import { F } from '@ringrun/nn';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  BertForMaskedLM,
  BertForSequenceClassification,
  BertModel,
  DistilBertForSequenceClassification,
  DistilBertModel,
  GPT2LMHeadModel,
  GPT2Model,
  ResNetForImageClassification,
  ResNetModel,
  fromPretrained,
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

const silently = { onLoadingInfo: () => undefined };

describe('BERT', () => {
  const expected = expectedOf('bert');
  const inputs = () =>
    [
      tensorOf(expected['inputIds']),
      tensorOf(expected['attentionMask']),
      tensorOf(expected['tokenTypeIds']),
    ] as const;

  test('has the states and the pooled vectors of transformers', async () => {
    const model = await fromPretrained(goldenFolder('bert'), { model: BertModel, ...silently });
    const { lastHiddenState, poolerOutput } = model.forward(...inputs());
    expectClose(lastHiddenState, expected['lastHiddenState']);
    expectClose(poolerOutput!, expected['poolerOutput']);
  });

  test('classifies texts, and one step changes all weights as in PyTorch', async () => {
    const model = await fromPretrained(goldenFolder('bert'));
    if (!(model instanceof BertForSequenceClassification)) throw new Error(`got ${model.constructor.name}`);
    expectClose(model.forward(...inputs()), expected['logits']);
    const labels = tensorOf(expected['labels']);
    await expectStep(model, () => F.crossEntropy(model.forward(...inputs()), labels), expected.step);
  });

  test('predicts masked tokens with the table of the input tokens', async () => {
    const model = await fromPretrained(goldenFolder('bert'), { model: BertForMaskedLM, ...silently });
    for (const [name, { data }] of model.cls.namedParameters()) {
      if (name.includes('decoder.weight')) continue;
      data.set(data.map((_, i) => -0.5 + i / (data.length - 1)));
    }
    expectClose(model.forward(...inputs()), expected['maskedLogits']);
    expect(model.cls.predictions.decoder.weight).toBe(model.parameters()[0]);
  });
});

describe('DistilBERT', () => {
  const expected = expectedOf('distilbert');
  const inputs = () => [tensorOf(expected['inputIds']), tensorOf(expected['attentionMask'])] as const;

  test('has the states of transformers', async () => {
    const model = await fromPretrained(goldenFolder('distilbert'), { model: DistilBertModel, ...silently });
    expectClose(model.forward(...inputs()).lastHiddenState, expected['lastHiddenState']);
  });

  test('classifies texts, and one step changes all weights as in PyTorch', async () => {
    const model = await fromPretrained(goldenFolder('distilbert'), {
      model: DistilBertForSequenceClassification,
    });
    expectClose(model.forward(...inputs()), expected['logits']);
    const labels = tensorOf(expected['labels']);
    await expectStep(model, () => F.crossEntropy(model.forward(...inputs()), labels), expected.step);
  });
});

describe('GPT-2', () => {
  const expected = expectedOf('gpt2');
  const inputs = () => [tensorOf(expected['inputIds']), tensorOf(expected['attentionMask'])] as const;

  test('has the states of transformers', async () => {
    const model = await fromPretrained(goldenFolder('gpt2'), { model: GPT2Model });
    expectClose(model.forward(...inputs()).lastHiddenState, expected['lastHiddenState']);
  });

  test('predicts tokens, and one step changes all weights as in PyTorch', async () => {
    const model = await fromPretrained(goldenFolder('gpt2'), { model: GPT2LMHeadModel });
    expectClose(model.forward(...inputs()), expected['logits']);
    expectClose(model.forward(inputs()[0]), expected['logitsWithoutMask']);
    const [ids, mask] = inputs();
    const lossOf = () => languageLoss(model.forward(ids, mask), ids, mask);
    // PyTorch lists the tied weight twice.
    const keyOf = (key: string) => (key === 'lm_head.weight' ? 'transformer.wte.weight' : key);
    await expectStep(model, lossOf, expected.step, keyOf);
  });
});

describe.each(['resnet-basic', 'resnet-bottleneck'])('%s', (name) => {
  const expected = expectedOf(name);
  let model: ResNetForImageClassification;
  beforeEach(async () => {
    model = await fromPretrained(goldenFolder(name), { model: ResNetForImageClassification });
  });

  test('has the features of transformers', async () => {
    const base = await fromPretrained(goldenFolder(name), { model: ResNetModel, ...silently });
    expectClose(base.forward(images()).poolerOutput, expected['poolerOutput']);
  });

  test('classifies images, and one step changes all weights and statistics as in PyTorch', async () => {
    expectClose(model.forward(images()), expected['logits']);
    const labels = tensorOf(expected['labels']);
    await expectStep(model, () => F.crossEntropy(model.forward(images()), labels), expected.step);
  });
});
