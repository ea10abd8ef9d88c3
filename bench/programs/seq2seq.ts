// A GRU encoder and decoder that learn to reverse sequences, with teacher forcing. Its counterpart is seq2seq.py.
import { F, fullLike, manualSeed, nn, optim, rand, randint, stack, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

const [words, begin] = [12, 0];

class Encoder extends nn.Module {
  embedding = new nn.Embedding(words, 24);
  gru = new nn.GRU(24, 48, { batchFirst: true });

  forward(source: Tensor): Tensor {
    const [, hidden] = this.gru.forward(this.embedding.forward(source));
    return hidden;
  }
}

class Decoder extends nn.Module {
  embedding = new nn.Embedding(words, 24);
  gru = new nn.GRU(24, 48, { batchFirst: true });
  out = new nn.Linear(48, words);

  forward(word: Tensor, hidden: Tensor): [Tensor, Tensor] {
    const [output, next] = this.gru.forward(F.relu(this.embedding.forward(word)).unsqueeze(1), hidden);
    return [this.out.forward(output.squeeze(1)), next];
  }
}

export function start(): Program {
  manualSeed(3);
  const [encoder, decoder] = [new Encoder(), new Decoder()];
  const optimizer = new optim.Adam([...encoder.parameters(), ...decoder.parameters()], { lr: 5e-3 });
  const criterion = new nn.CrossEntropyLoss();

  async function step() {
    const source = randint(1, words, [32, 6]);
    const target = source.flip(1);
    const isForced = (await rand(1).item()) < 0.7;
    let hidden = encoder.forward(source);
    let word = fullLike(target.at([], 0), begin);
    const outputs: Tensor[] = [];
    for (let t = 0; t < 6; t += 1) {
      const [logits, next] = decoder.forward(word, hidden);
      outputs.push(logits);
      hidden = next;
      word = isForced ? target.at([], t) : logits.argmax(1);
    }
    optimizer.zeroGrad();
    const loss = criterion.forward(stack(outputs, 2), target);
    await loss.backward();
    await optimizer.step();
    return loss.item();
  }

  return { step };
}
