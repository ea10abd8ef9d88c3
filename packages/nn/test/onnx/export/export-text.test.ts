import * as ort from 'onnxruntime-node';
import { expect, test } from 'vitest';
import { cat, exportOnnx, manualSeed, nn, tensor, type Tensor } from '../../../src/index.ts';
import { fillClasses } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

/** Words, bags of them and recurrent layers, as in text classification. */
class TextModel extends nn.Module {
  readonly words = new nn.Embedding(9, 3);
  readonly lstm = new nn.LSTM(3, 4, { batchFirst: true, bidirectional: true });
  readonly gru = new nn.GRU(8, 5, { batchFirst: true });
  readonly bag = new nn.EmbeddingBag(9, 4, { paddingIdx: 0 });
  readonly largest = new nn.EmbeddingBag(9, 2, { mode: 'max', paddingIdx: 0 });

  forward(tokens: Tensor): Tensor {
    const [output] = this.lstm.forward(this.words.forward(tokens));
    const [, last] = this.gru.forward(output);
    return cat([last.squeeze(0), this.bag.forward(tokens), this.largest.forward(tokens)], 1);
  }
}

test('an exported text model has only ONNX operators, and is correct for any batch', async () => {
  manualSeed(1);
  const model = new TextModel();
  const bytes = exportOnnx(model, { inputs: [{ name: 'tokens', shape: [1, 6], dtype: 'int64' }] });
  const session = await ort.InferenceSession.create(bytes);
  for (const batch of [1, 2, 5]) {
    const shape = [batch, 6];
    const tokens = fillClasses(batch * 6, 9, batch);
    const { output } = await session.run({ tokens: new ort.Tensor('int64', tokens, shape) });
    expect(output.dims).toEqual([batch, 11]);
    const expected = (await model.forward(tensor(tokens, shape)).array()) as Float32Array;
    expectClose(`batch of ${batch}`, output.data as Float32Array, [...expected], 1e-6);
  }
});
