import { F, defaultGenerator, nn, type Tensor } from '@ringrun/nn';

export interface GPTConfig {
  vocabSize: number;
  /** Maximum number of tokens of an input. */
  context: number;
  layers: number;
  /** Must divide `width`. */
  heads: number;
  width: number;
}

/** GPT-2 without biases and dropout (nanoGPT): pre-norm blocks; the table of tokens is also the last layer. */
export class GPT extends nn.Module {
  readonly wte: nn.Embedding;
  readonly wpe: nn.Embedding;
  readonly blocks: nn.ModuleList<Block>;
  readonly ln_f: nn.LayerNorm;

  constructor({ vocabSize, context, layers, heads, width }: GPTConfig) {
    super();
    this.wte = new nn.Embedding(vocabSize, width);
    this.wpe = new nn.Embedding(context, width);
    this.blocks = new nn.ModuleList(Array.from({ length: layers }, () => new Block(width, heads)));
    this.ln_f = new nn.LayerNorm(width, { bias: false });
    for (const [name, { data, shape }] of this.namedParameters()) {
      // Each block adds twice to the residual stream.
      const std = name.endsWith('Proj.weight') ? 0.02 / Math.sqrt(2 * layers) : 0.02;
      if (shape.length === 2) defaultGenerator.fillNormal(data, 0, std);
    }
  }

  /** Maps tokens [N, L] to the logits of the tokens that follow them, [N, L, vocabSize]. */
  forward(tokens: Tensor): Tensor {
    let x = this.wte.forward(tokens).add(this.wpe.weight.narrow(0, 0, tokens.shape[1]));
    for (const block of this.blocks) x = block.forward(x);
    return F.linear(this.ln_f.forward(x), this.wte.weight);
  }
}

class Block extends nn.Module {
  readonly ln1: nn.LayerNorm;
  readonly qkv: nn.Linear;
  readonly attentionProj: nn.Linear;
  readonly ln2: nn.LayerNorm;
  readonly hidden: nn.Linear;
  readonly hiddenProj: nn.Linear;

  readonly #heads: number;

  constructor(width: number, heads: number) {
    super();
    this.#heads = heads;
    const linear = (from: number, to: number) => new nn.Linear(from, to, { bias: false });
    this.ln1 = new nn.LayerNorm(width, { bias: false });
    this.qkv = linear(width, 3 * width);
    this.attentionProj = linear(width, width);
    this.ln2 = new nn.LayerNorm(width, { bias: false });
    this.hidden = linear(width, 4 * width);
    this.hiddenProj = linear(4 * width, width);
  }

  /** [N, L, width] to [N, L, width] */
  forward(x: Tensor): Tensor {
    const attended = x.add(this.attentionProj.forward(this.#attend(this.qkv.forward(this.ln1.forward(x)))));
    return attended.add(this.hiddenProj.forward(F.gelu(this.hidden.forward(this.ln2.forward(attended)))));
  }

  /** Queries, keys and values side by side, [N, L, 3·width], to [N, L, width]. */
  #attend(qkv: Tensor): Tensor {
    const [n, length] = qkv.shape;
    const heads = (part: Tensor) => part.view(n, length, this.#heads, -1).transpose(1, 2);
    const [query, key, value] = qkv.chunk(3, -1).map(heads);
    const attended = F.scaledDotProductAttention(query, key, value, { isCausal: true });
    return attended.transpose(1, 2).view(n, length, -1);
  }
}
