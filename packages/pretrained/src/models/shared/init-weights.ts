import { nn } from '@ringrun/nn';

/**
 * The initial weights of transformers: matrices and tables from a normal distribution, biases and the padding row 0
 * (PreTrainedModel._init_weights). Normalizations keep 1 and 0.
 *
 * @param std standard deviation: `initializer_range`
 * @param paddingIdx row of tables `word_embeddings` that stays 0. Default: none.
 */
export function initWeights(model: nn.Module, std: number, paddingIdx?: number | null): void {
  for (const [path, module] of model.namedModules()) {
    if (module instanceof nn.Linear) {
      nn.init.normal(module.weight, { std });
      if (module.bias) nn.init.zeros(module.bias);
    } else if (module instanceof nn.Embedding) {
      nn.init.normal(module.weight, { std });
      const width = module.weight.shape[1];
      if (path.endsWith('word_embeddings') && typeof paddingIdx === 'number')
        module.weight.data.fill(0, paddingIdx * width, (paddingIdx + 1) * width);
    }
  }
}
