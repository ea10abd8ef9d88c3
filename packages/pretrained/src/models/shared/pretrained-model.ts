import { nn } from '@ringrun/nn';
import type { PretrainedConfig } from './config.ts';

/**
 * A model whose weights have the names of transformers (transformers.PreTrainedModel). Its submodules are properties with these
 * names, such as `bert.encoder.layer[0].attention.self.query`.
 */
export abstract class PretrainedModel<Config extends PretrainedConfig = PretrainedConfig> extends nn.Module {
  /** The complete settings, with the names of `config.json`. */
  readonly config: Config;

  constructor(config: Config) {
    super();
    this.config = config;
  }
}

/** The class of a pretrained model. */
export interface PretrainedModelClass<Model extends PretrainedModel = PretrainedModel> {
  /** Name of the class in transformers. */
  readonly name: string;
  /** `model_type` of its settings. */
  readonly modelType: string;
  /** Property of the base model in models with a head, and the prefix of its weights: `bert`. */
  readonly baseModelPrefix: string;
  /** Checks the settings, and initializes the weights randomly. */
  new (config: never): Model;
}
