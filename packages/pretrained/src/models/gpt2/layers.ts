import { nn, type Tensor } from '@ringrun/nn';
import { activationOf, type Activation } from '../shared/activations.ts';
import { attend } from '../shared/attention.ts';
import type { GPT2Config } from './config.ts';
import { Conv1D } from './conv1d.ts';

/** Initial standard deviation of layers whose output is added to the residual stream, twice in each block. */
function residualStd({ initializer_range, n_layer }: GPT2Config): number {
  return initializer_range / Math.sqrt(2 * n_layer);
}

/** Attention to earlier tokens. */
export class GPT2Attention extends nn.Module {
  readonly c_attn: Conv1D;
  readonly c_proj: Conv1D;
  readonly resid_dropout: nn.Dropout;
  readonly heads: number;
  readonly scale: number;
  readonly dropoutP: number;

  /** @param index of the layer, from 0 */
  constructor(config: GPT2Config, index: number) {
    super();
    const { n_embd: width, n_head } = config;
    this.c_attn = new Conv1D(3 * width, width, config.initializer_range);
    this.c_proj = new Conv1D(width, width, residualStd(config));
    this.resid_dropout = new nn.Dropout(config.resid_pdrop);
    this.heads = n_head;
    const scale = config.scale_attn_weights ? Math.sqrt(n_head / width) : 1;
    this.scale = config.scale_attn_by_inverse_layer_idx ? scale / (index + 1) : scale;
    this.dropoutP = config.attn_pdrop;
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    const { heads, scale, dropoutP, training } = this;
    const attended = attend(this.c_attn.forward(hidden).chunk(3, -1), {
      heads,
      scale,
      mask,
      dropoutP: training ? dropoutP : 0,
      isCausal: true,
    });
    return this.resid_dropout.forward(this.c_proj.forward(attended));
  }
}

/** Two linear layers. */
export class GPT2MLP extends nn.Module {
  readonly c_fc: Conv1D;
  readonly c_proj: Conv1D;
  readonly dropout: nn.Dropout;
  readonly activation: Activation;

  constructor(config: GPT2Config) {
    super();
    const { n_embd: width, n_inner } = config;
    const inner = n_inner ?? 4 * width;
    this.c_fc = new Conv1D(inner, width, config.initializer_range);
    this.c_proj = new Conv1D(width, inner, residualStd(config));
    this.dropout = new nn.Dropout(config.resid_pdrop);
    this.activation = activationOf(config.activation_function);
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor): Tensor {
    return this.dropout.forward(this.c_proj.forward(this.activation(this.c_fc.forward(hidden))));
  }
}

/** A block: attention, and two linear layers. */
export class GPT2Block extends nn.Module {
  readonly ln_1: nn.LayerNorm;
  readonly attn: GPT2Attention;
  readonly ln_2: nn.LayerNorm;
  readonly mlp: GPT2MLP;

  /** @param index of the layer, from 0 */
  constructor(config: GPT2Config, index: number) {
    super();
    const eps = config.layer_norm_epsilon;
    this.ln_1 = new nn.LayerNorm(config.n_embd, { eps });
    this.attn = new GPT2Attention(config, index);
    this.ln_2 = new nn.LayerNorm(config.n_embd, { eps });
    this.mlp = new GPT2MLP(config);
  }

  /** [N, S, width] to [N, S, width] */
  forward(hidden: Tensor, mask?: Tensor): Tensor {
    const attended = this.attn.forward(this.ln_1.forward(hidden), mask).add(hidden);
    return attended.add(this.mlp.forward(this.ln_2.forward(attended)));
  }
}
