import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { xavierUniform } from '../init/uniform.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { LayerNorm } from './layer-norm.ts';
import { Module } from './module.ts';
import { TransformerDecoder, TransformerEncoder } from './transformer-stacks.ts';
import {
  TransformerDecoderLayer,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
} from './transformer-layers.ts';

/** Options of {@link Transformer}. */
export interface TransformerOptions extends TransformerLayerOptions {
  /** Number of encoder layers. Default: 6. */
  numEncoderLayers?: number;
  /** Number of decoder layers. Default: 6. */
  numDecoderLayers?: number;
}

/** Options of {@link Transformer.forward}. See `EncoderInputs` and `DecoderInputs`. */
export interface TransformerInputs {
  /** Mask of the encoder's self-attention, [S, S]. Default: none. */
  srcMask?: Tensor | undefined;
  /** Mask of the target's self-attention, [L, L]. Default: none. */
  tgtMask?: Tensor | undefined;
  /** Mask of the target's attention to the encoder's output, [L, S]. Default: none. */
  memoryMask?: Tensor | undefined;
  /** Padding mask of the source, [N, S]. Default: none. */
  srcKeyPaddingMask?: Tensor | undefined;
  /** Padding mask of the target, [N, L]. Default: none. */
  tgtKeyPaddingMask?: Tensor | undefined;
  /** Padding mask of the encoder's output, [N, S]. Default: none. */
  memoryKeyPaddingMask?: Tensor | undefined;
  /** If true, element i of the target attends only to elements 0 to i. Default: `false`. */
  tgtIsCausal?: boolean;
}

const inputNames: OptionNames<TransformerInputs> = {
  srcMask: true,
  tgtMask: true,
  memoryMask: true,
  srcKeyPaddingMask: true,
  tgtKeyPaddingMask: true,
  memoryKeyPaddingMask: true,
  tgtIsCausal: true,
};

/**
 * An encoder and a decoder, each with a final LayerNorm (torch.nn.Transformer; Vaswani and others, 2017). Matrices are
 * initialized as in Glorot and Bengio (2010).
 */
export class Transformer extends Module {
  /** Encodes the source. */
  readonly encoder: TransformerEncoder;
  /** Decodes the target. */
  readonly decoder: TransformerDecoder;

  /**
   * - `dModel`: embedding size, a multiple of `nhead`. Default: 512.
   * - `nhead`: number of heads. Default: 8.
   */
  constructor(
    ...given: Call<
      [dModel?: number | undefined, nhead?: number | undefined, options?: TransformerOptions | undefined],
      'nn.Transformer'
    >
  ) {
    const [dModel = 512, nhead = 8, options] = arranged('nn.Transformer', given);
    super();

    const { numEncoderLayers = 6, numDecoderLayers = 6, ...layer } = options;
    const eps = layer.layerNormEps ?? 1e-5;
    const encoderLayer = new TransformerEncoderLayer(dModel, nhead, layer);
    this.encoder = new TransformerEncoder(encoderLayer, numEncoderLayers, {
      norm: new LayerNorm(dModel, { eps }),
    });
    const decoderLayer = new TransformerDecoderLayer(dModel, nhead, layer);
    this.decoder = new TransformerDecoder(decoderLayer, numDecoderLayers, {
      norm: new LayerNorm(dModel, { eps }),
    });
    for (const { shape, data } of this.parameters()) {
      const [out, input] = shape;
      if (shape.length > 1) data.set(xavierUniform([out, input]).data);
    }
  }

  /**
   * Returns a tensor of the shape of `tgt`.
   *
   * @param src [S, N, E], or [N, S, E] with `batchFirst`
   * @param tgt [L, N, E], or [N, L, E] with `batchFirst`
   */
  forward(src: Tensor, tgt: Tensor, options: TransformerInputs = {}): Tensor {
    requireOptions('Transformer.forward', options, inputNames);
    const { srcMask, srcKeyPaddingMask, ...decoderInputs } = options;
    const memory = this.encoder.forward(src, { srcMask, srcKeyPaddingMask });
    return this.decoder.forward(tgt, memory, decoderInputs);
  }
}
