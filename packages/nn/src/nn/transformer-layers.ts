import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { inUserFunction } from '../errors/called-function.ts';
import { gelu, relu } from '../functional/activation.ts';
import { ArgumentError } from '../errors/errors.ts';
import { defaultGenerator } from '../random/generator.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { spellAsTorch } from './attributes.ts';
import { Dropout } from './dropout.ts';
import { LayerNorm } from './layer-norm.ts';
import { Linear } from './linear.ts';
import { Module } from './module.ts';
import { MultiheadAttention } from './multihead-attention.ts';

/** Options of {@link TransformerEncoderLayer} and {@link TransformerDecoderLayer}. */
export interface TransformerLayerOptions {
  /** Size of the feed-forward layer. Default: 2048. */
  dimFeedforward?: number;
  /** Probability of dropping an element in training. Default: 0.1. */
  dropout?: number;
  /** Activation of the feed-forward layer. Default: 'relu'. */
  activation?: 'relu' | 'gelu' | ((input: Tensor) => Tensor);
  /** Added to the variance in layer normalization. Default: 1e-5. */
  layerNormEps?: number;
  /** If true, tensors are [N, L, E], else [L, N, E]. Default: false, as in torch. */
  batchFirst?: boolean;
  /** If true, normalizes before attention and feed-forward layer, otherwise after them. Default: false. */
  normFirst?: boolean;
}

export const layerOptions: OptionNames<TransformerLayerOptions> = {
  dimFeedforward: true,
  dropout: true,
  activation: true,
  layerNormEps: true,
  batchFirst: true,
  normFirst: true,
};

/** Options of {@link TransformerEncoderLayer.forward}. */
export interface EncoderInputs {
  /** Attention mask, see `attnMask` of MultiheadAttention. Default: none. */
  srcMask?: Tensor | undefined;
  /** Padding mask [N, L], see `keyPaddingMask` of MultiheadAttention. Default: none. */
  srcKeyPaddingMask?: Tensor | undefined;
  /** If true, element i attends only to elements 0 to i. Default: `false`. */
  isCausal?: boolean;
}

const encoderInputs: OptionNames<EncoderInputs> = { srcMask: true, srcKeyPaddingMask: true, isCausal: true };

/** Options of {@link TransformerDecoderLayer.forward}. */
export interface DecoderInputs {
  /** Mask of the target's self-attention. Default: none. */
  tgtMask?: Tensor | undefined;
  /** Mask of the target's attention to the memory. Default: none. */
  memoryMask?: Tensor | undefined;
  /** Padding mask of the target, [N, L]. Default: none. */
  tgtKeyPaddingMask?: Tensor | undefined;
  /** Padding mask of the memory, [N, S]. Default: none. */
  memoryKeyPaddingMask?: Tensor | undefined;
  /** If true, element i of the target attends only to elements 0 to i. Default: `false`. */
  tgtIsCausal?: boolean;
}

const decoderInputs: OptionNames<DecoderInputs> = {
  tgtMask: true,
  memoryMask: true,
  tgtKeyPaddingMask: true,
  memoryKeyPaddingMask: true,
  tgtIsCausal: true,
};

/** Self-attention and a feed-forward layer, each with a residual connection (torch.nn.TransformerEncoderLayer). */
export class TransformerEncoderLayer extends Module {
  /** Self-attention. */
  readonly selfAttn: MultiheadAttention;
  /** First layer of the feed-forward part. */
  readonly linear1: Linear;
  /** Dropout of the feed-forward part. */
  readonly dropout: Dropout;
  /** Second layer of the feed-forward part. */
  readonly linear2: Linear;
  /** Normalization of self-attention. */
  readonly norm1: LayerNorm;
  /** Normalization of the feed-forward part. */
  readonly norm2: LayerNorm;
  /** Dropout of self-attention's output. */
  readonly dropout1: Dropout;
  /** Dropout of the feed-forward part's output. */
  readonly dropout2: Dropout;
  readonly #settings: Required<TransformerLayerOptions>;
  readonly #copy: () => TransformerEncoderLayer;

  static {
    spellAsTorch(this.prototype, ['selfAttn']);
  }

  /** - `dModel`: embedding size, a multiple of `nhead` */
  constructor(
    ...given: Call<
      [dModel: number, nhead: number, options?: TransformerLayerOptions | undefined],
      'nn.TransformerEncoderLayer'
    >
  ) {
    const [dModel, nhead, options] = arranged('nn.TransformerEncoderLayer', given);
    super();
    const settings = settingsOf('TransformerEncoderLayer', options);
    const { dimFeedforward, dropout, layerNormEps: eps, batchFirst } = settings;
    this.selfAttn = new MultiheadAttention(dModel, nhead, { dropout, batchFirst });
    this.linear1 = new Linear(dModel, dimFeedforward);
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, dModel);
    this.norm1 = new LayerNorm(dModel, { eps });
    this.norm2 = new LayerNorm(dModel, { eps });
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    this.#settings = settings;
    this.#copy = () => new TransformerEncoderLayer(dModel, nhead, settings);
  }

  /**
   * Returns a tensor of the shape of `src`.
   *
   * @param src [L, N, E], or [N, L, E] with `batchFirst`
   */
  forward(src: Tensor, options: EncoderInputs = {}): Tensor {
    requireOptions('TransformerEncoderLayer.forward', options, encoderInputs);
    const { srcMask: attnMask, srcKeyPaddingMask: keyPaddingMask, isCausal = false } = options;
    const attend = (x: Tensor) =>
      this.dropout1.forward(this.selfAttn.forward(x, x, x, { attnMask, keyPaddingMask, isCausal }).output);
    const hidden = (x: Tensor) => this.dropout2.forward(hiddenLayer(this, this.#settings, x));
    const { normFirst } = this.#settings;
    return residual(residual(src, attend, this.norm1, normFirst), hidden, this.norm2, normFirst);
  }

  /** Returns a copy of the layer with equal parameters. */
  clone(): TransformerEncoderLayer {
    return copied(this, this.#copy);
  }
}

/**
 * Self-attention, attention to a memory, and a feed-forward layer, each with a residual connection
 * (torch.nn.TransformerDecoderLayer).
 */
export class TransformerDecoderLayer extends Module {
  /** Self-attention. */
  readonly selfAttn: MultiheadAttention;
  /** Attention to the memory. */
  readonly multiheadAttn: MultiheadAttention;
  /** First layer of the feed-forward part. */
  readonly linear1: Linear;
  /** Dropout of the feed-forward part. */
  readonly dropout: Dropout;
  /** Second layer of the feed-forward part. */
  readonly linear2: Linear;
  /** Normalization of self-attention. */
  readonly norm1: LayerNorm;
  /** Normalization of attention to the memory. */
  readonly norm2: LayerNorm;
  /** Normalization of the feed-forward part. */
  readonly norm3: LayerNorm;
  /** Dropout of self-attention's output. */
  readonly dropout1: Dropout;
  /** Dropout of the output of attention to the memory. */
  readonly dropout2: Dropout;
  /** Dropout of the feed-forward part's output. */
  readonly dropout3: Dropout;
  readonly #settings: Required<TransformerLayerOptions>;
  readonly #copy: () => TransformerDecoderLayer;

  static {
    spellAsTorch(this.prototype, ['selfAttn', 'multiheadAttn']);
  }

  /** - `dModel`: embedding size, a multiple of `nhead` */
  constructor(
    ...given: Call<
      [dModel: number, nhead: number, options?: TransformerLayerOptions | undefined],
      'nn.TransformerDecoderLayer'
    >
  ) {
    const [dModel, nhead, options] = arranged('nn.TransformerDecoderLayer', given);
    super();
    const settings = settingsOf('TransformerDecoderLayer', options);
    const { dimFeedforward, dropout, layerNormEps: eps, batchFirst } = settings;
    this.selfAttn = new MultiheadAttention(dModel, nhead, { dropout, batchFirst });
    this.multiheadAttn = new MultiheadAttention(dModel, nhead, { dropout, batchFirst });
    this.linear1 = new Linear(dModel, dimFeedforward);
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, dModel);
    this.norm1 = new LayerNorm(dModel, { eps });
    this.norm2 = new LayerNorm(dModel, { eps });
    this.norm3 = new LayerNorm(dModel, { eps });
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    this.dropout3 = new Dropout(dropout);
    this.#settings = settings;
    this.#copy = () => new TransformerDecoderLayer(dModel, nhead, settings);
  }

  /**
   * Returns a tensor of the shape of `tgt`.
   *
   * @param tgt [L, N, E], or [N, L, E] with `batchFirst`
   * @param memory [S, N, E]: the output of an encoder
   */
  forward(tgt: Tensor, memory: Tensor, options: DecoderInputs = {}): Tensor {
    requireOptions('TransformerDecoderLayer.forward', options, decoderInputs);
    const own = {
      attnMask: options.tgtMask,
      keyPaddingMask: options.tgtKeyPaddingMask,
      isCausal: options.tgtIsCausal ?? false,
    };
    const others = { attnMask: options.memoryMask, keyPaddingMask: options.memoryKeyPaddingMask };
    const attend = (x: Tensor) => this.dropout1.forward(this.selfAttn.forward(x, x, x, own).output);
    const look = (x: Tensor) =>
      this.dropout2.forward(this.multiheadAttn.forward(x, memory, memory, others).output);
    const hidden = (x: Tensor) => this.dropout3.forward(hiddenLayer(this, this.#settings, x));
    const { normFirst } = this.#settings;
    const attended = residual(tgt, attend, this.norm1, normFirst);
    return residual(residual(attended, look, this.norm2, normFirst), hidden, this.norm3, normFirst);
  }

  /** Returns a copy of the layer with equal parameters. */
  clone(): TransformerDecoderLayer {
    return copied(this, this.#copy);
  }
}

function settingsOf(name: string, options: TransformerLayerOptions): Required<TransformerLayerOptions> {
  requireOptions(name, options, layerOptions);
  const settings = {
    dimFeedforward: 2048,
    dropout: 0.1,
    activation: 'relu' as const,
    layerNormEps: 1e-5,
    batchFirst: false,
    normFirst: false,
    ...options,
  };
  const { activation } = settings;
  if (typeof activation !== 'function' && !['relu', 'gelu'].includes(activation)) {
    throw new ArgumentError(`${name}: expected activation 'relu', 'gelu' or a function, got ${activation}.`);
  }
  return settings;
}

function hiddenLayer(
  layer: Pick<TransformerEncoderLayer, 'linear1' | 'linear2' | 'dropout'>,
  { activation }: Required<TransformerLayerOptions>,
  x: Tensor,
): Tensor {
  const activate = (x: Tensor) => {
    if (typeof activation === 'function') return inUserFunction(() => activation(x));
    return activation === 'relu' ? relu(x) : gelu(x);
  };
  return layer.linear2.forward(layer.dropout.forward(activate(layer.linear1.forward(x))));
}

function residual(x: Tensor, change: (x: Tensor) => Tensor, norm: LayerNorm, normFirst: boolean): Tensor {
  return normFirst ? x.add(change(norm.forward(x))) : norm.forward(x.add(change(x)));
}

/** Creates a module with `create` and copies another's parameters into it; draws no random numbers. */
function copied<Layer extends Module>(layer: Layer, create: () => Layer): Layer {
  const state = defaultGenerator.stateDict();
  const copy = create();
  defaultGenerator.loadStateDict(state);
  copy.loadStateDict(layer.stateDict());
  return copy.train(layer.training);
}
