import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { ModuleList } from './module-list.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import type { Layer } from './sequential.ts';
import type {
  DecoderInputs,
  EncoderInputs,
  TransformerDecoderLayer,
  TransformerEncoderLayer,
} from './transformer-layers.ts';

/** Options of {@link TransformerEncoder} and {@link TransformerDecoder}. */
export interface TransformerStackOptions {
  /** Normalization of the output. Default: none. */
  norm?: Layer | undefined;
}

/** A stack of encoder layers (torch.nn.TransformerEncoder). As in torch, they start with equal parameters. */
export class TransformerEncoder extends Module {
  /** Copies of the layer. */
  readonly layers: ModuleList<TransformerEncoderLayer>;
  /** Normalization of the output; undefined: none. */
  readonly norm: Layer | undefined;

  /** - `encoderLayer`: copied `numLayers` times */
  constructor(
    ...given: Call<
      [
        encoderLayer: TransformerEncoderLayer,
        numLayers: number,
        options?: TransformerStackOptions | undefined,
      ],
      'nn.TransformerEncoder'
    >
  ) {
    const [encoderLayer, numLayers, options] = arranged('nn.TransformerEncoder', given);
    super();

    requirePositiveInteger('TransformerEncoder', { numLayers });
    this.layers = new ModuleList(Array.from({ length: numLayers }, () => encoderLayer.clone()));
    this.norm = options.norm;
  }

  /**
   * Returns a tensor of the shape of `src`.
   *
   * @param src see {@link TransformerEncoderLayer}
   */
  forward(src: Tensor, options: EncoderInputs = {}): Tensor {
    const output = [...this.layers].reduce((x, layer) => layer.forward(x, options), src);
    return this.norm?.forward(output) ?? output;
  }
}

/** A stack of decoder layers (torch.nn.TransformerDecoder). As in torch, they start with equal parameters. */
export class TransformerDecoder extends Module {
  /** Copies of the layer. */
  readonly layers: ModuleList<TransformerDecoderLayer>;
  /** Normalization of the output; undefined: none. */
  readonly norm: Layer | undefined;

  /** - `decoderLayer`: copied `numLayers` times */
  constructor(
    ...given: Call<
      [
        decoderLayer: TransformerDecoderLayer,
        numLayers: number,
        options?: TransformerStackOptions | undefined,
      ],
      'nn.TransformerDecoder'
    >
  ) {
    const [decoderLayer, numLayers, options] = arranged('nn.TransformerDecoder', given);
    super();

    requirePositiveInteger('TransformerDecoder', { numLayers });
    this.layers = new ModuleList(Array.from({ length: numLayers }, () => decoderLayer.clone()));
    this.norm = options.norm;
  }

  /**
   * Returns a tensor of the shape of `tgt`.
   *
   * @param tgt see {@link TransformerDecoderLayer}
   * @param memory see {@link TransformerDecoderLayer}
   */
  forward(tgt: Tensor, memory: Tensor, options: DecoderInputs = {}): Tensor {
    const output = [...this.layers].reduce((x, layer) => layer.forward(x, memory, options), tgt);
    return this.norm?.forward(output) ?? output;
  }
}
