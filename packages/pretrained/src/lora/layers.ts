import { nn, noGrad, Parameter, type Tensor } from '@ringrun/nn';
import { Conv1D } from '../models/gpt2/conv1d.ts';
import type { LoraConfig } from './options.ts';

/** A layer that can have an adapter. */
export type BaseLayer = nn.Linear | Conv1D | nn.Embedding | nn.Conv2d;

/** A frozen layer and its adapter, whose outputs are added (peft.tuners.lora.LoraLayer; Hu and others, 2021). */
export abstract class LoraLayer<Base extends BaseLayer = BaseLayer> extends nn.Module {
  /** The frozen layer. */
  readonly base_layer: Base;
  /** The options of all adapters of the model. */
  readonly config: LoraConfig;
  /** The weight of the layer before `merge`; undefined unless the adapter is merged. */
  original: Float32Array | undefined;

  constructor(base: Base, config: LoraConfig) {
    super();
    this.base_layer = base;
    this.config = config;
    this.training = base.training;
  }

  /** Factor of the adapter's output. */
  get scaling(): number {
    const { alpha, rank, useRslora } = this.config;
    return alpha / (useRslora ? Math.sqrt(rank) : rank);
  }

  /** The weight of the frozen layer. */
  get weight(): Parameter {
    return this.base_layer.weight;
  }

  /** The adapter's output. */
  protected abstract adapted(input: Tensor): Tensor;

  /** What the adapter adds to the weight, without `scaling`. */
  protected abstract delta(): Tensor;

  /** As the frozen layer. */
  forward(input: Tensor): Tensor {
    const output = this.base_layer.forward(input);
    return this.original ? output : output.add(this.adapted(input).mul(this.scaling));
  }

  /** Adds the adapter to the weight. */
  merge(): void {
    if (this.original) return;
    const original = this.weight.data.slice();
    this.#setWeight(
      noGrad(() => this.weight.add(this.delta().mul(this.scaling)).arraySync()) as Float32Array,
    );
    this.original = original;
  }

  /** Restores the weight, bit by bit. */
  unmerge(): void {
    if (!this.original) return;
    this.#setWeight(this.original);
    this.original = undefined;
  }

  #setWeight(data: Float32Array): void {
    const { shape } = this.weight;
    this.base_layer.loadStateDict({ weight: { shape, data } }, { strict: false });
  }
}

/** An adapter of a linear layer: B·A·x. */
export class LoraLinear extends LoraLayer<nn.Linear | Conv1D> {
  readonly lora_dropout: nn.Dropout;
  readonly lora_A: nn.Linear;
  readonly lora_B: nn.Linear;

  constructor(base: nn.Linear | Conv1D, config: LoraConfig) {
    super(base, config);
    const [first, second] = base.weight.shape;
    const [inFeatures, outFeatures] = base instanceof Conv1D ? [first, second] : [second, first];
    this.lora_dropout = new nn.Dropout(config.dropout);
    // kaiming_uniform with a = √5, as PEFT initializes it too.
    this.lora_A = new nn.Linear(inFeatures, config.rank, { bias: false });
    this.lora_B = new nn.Linear(config.rank, outFeatures, { bias: false });
    nn.init.zeros(this.lora_B.weight);
  }

  protected override adapted(input: Tensor): Tensor {
    return this.lora_B.forward(this.lora_A.forward(this.lora_dropout.forward(input)));
  }

  protected override delta(): Tensor {
    const product = this.lora_B.weight.matmul(this.lora_A.weight);
    return this.base_layer instanceof Conv1D ? product.transpose(0, 1) : product;
  }
}

/** An adapter of a table: rows of Aᵀ, times Bᵀ. */
export class LoraEmbedding extends LoraLayer<nn.Embedding> {
  /** [rank, rows] */
  readonly lora_embedding_A: Parameter;
  /** [width, rank] */
  readonly lora_embedding_B: Parameter;

  constructor(base: nn.Embedding, config: LoraConfig) {
    super(base, config);
    const [rows, width] = base.weight.shape;
    const { rank } = config;
    this.lora_embedding_A = new Parameter(new Float32Array(rank * rows), [rank, rows]);
    this.lora_embedding_B = new Parameter(new Float32Array(width * rank), [width, rank]);
    nn.init.normal(this.lora_embedding_B);
  }

  protected override adapted(input: Tensor): Tensor {
    const rows = this.lora_embedding_A.transpose(0, 1).at(input);
    return rows.matmul(this.lora_embedding_B.transpose(0, 1));
  }

  protected override delta(): Tensor {
    return this.lora_embedding_B.matmul(this.lora_embedding_A).transpose(0, 1);
  }
}

/** An adapter of a convolution: one to `rank` channels, and one of 1×1. */
export class LoraConv2d extends LoraLayer<nn.Conv2d> {
  readonly lora_dropout: nn.Dropout;
  readonly lora_A: nn.Conv2d;
  readonly lora_B: nn.Conv2d;

  constructor(base: nn.Conv2d, config: LoraConfig) {
    super(base, config);
    const [outChannels, channels, height, width] = base.weight.shape;
    const { stride, padding, dilation } = base;
    this.lora_dropout = new nn.Dropout(config.dropout);
    this.lora_A = new nn.Conv2d(channels, config.rank, [height, width], {
      stride,
      padding,
      dilation,
      bias: false,
    });
    this.lora_B = new nn.Conv2d(config.rank, outChannels, 1, { bias: false });
    nn.init.zeros(this.lora_B.weight);
  }

  protected override adapted(input: Tensor): Tensor {
    return this.lora_B.forward(this.lora_A.forward(this.lora_dropout.forward(input)));
  }

  protected override delta(): Tensor {
    const { weight: a } = this.lora_A;
    return this.lora_B.weight
      .flatten(1)
      .matmul(a.flatten(1))
      .view(...this.weight.shape);
  }
}

/** The adapter of a layer; undefined for layers without one, such as convolutions in groups. */
export function adapterOf(layer: nn.Module, config: LoraConfig): LoraLayer | undefined {
  if (layer instanceof nn.Linear || layer instanceof Conv1D) return new LoraLinear(layer, config);
  if (layer instanceof nn.Embedding) return new LoraEmbedding(layer, config);
  if (layer instanceof nn.Conv2d && layer.groups === 1 && layer.paddingMode === 'zeros')
    return new LoraConv2d(layer, config);
  return undefined;
}
