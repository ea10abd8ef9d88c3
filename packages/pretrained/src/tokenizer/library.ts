import { isMissingPackage, missingPackage } from '@ringrun/core';

/** The part of `Tokenizer` of @huggingface/tokenizers that is used; its own types do not resolve in Node's modules. */
export interface TokenizerLibrary {
  readonly model: { readonly unk_token_id?: number } | null;
  readonly post_processor: {
    post_process(text: string[], pair: string[] | undefined, addSpecialTokens: boolean): PostProcessed;
  } | null;
  get_vocab(): Map<string, number>;
  tokenize(text: string, options: { add_special_tokens: boolean }): string[];
  decode(ids: number[], options: { skip_special_tokens: boolean }): string;
}

interface PostProcessed {
  readonly tokens: readonly string[];
  readonly tokens_pair?: readonly string[];
  readonly token_type_ids?: readonly number[];
}

const library = '@huggingface/tokenizers';

/** @throws RingrunError (ERR_PACKAGE_MISSING) if the package is not installed */
export async function createTokenizer(who: string, model: object, config: object): Promise<TokenizerLibrary> {
  try {
    const { Tokenizer } = (await import('@huggingface/tokenizers')) as unknown as {
      Tokenizer: new (model: object, config: object) => TokenizerLibrary;
    };
    return new Tokenizer(model, config);
  } catch (error) {
    throw isMissingPackage(error, library) ? missingPackage(who, library, error) : error;
  }
}
