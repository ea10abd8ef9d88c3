import type { AttentionPlaces } from '../../../graph/attributes.ts';
import type { Value } from '../../../graph/node.ts';
import { placesOf } from '../../../ops/own/attention.ts';
import { gpuDType } from '../element-types.ts';
import type { Kernel, LoweringFamily } from '../lowering.ts';
import { takesProducts } from './attention-choice.ts';
import { attentionRowKernels, attentionsByProducts } from './attention-products.ts';
import { attentionsByTiles, tileKernels } from './attention-tiles.ts';

/** Kernels for usual sizes of heads. */
export const attentionKernels: readonly Kernel[] = [...tileKernels, ...attentionRowKernels];

const byProducts = attentionsByProducts();

const familyOf = (places: AttentionPlaces, result: Value) =>
  takesProducts(places, gpuDType(result)) ? byProducts : attentionsByTiles;

export const attentions: LoweringFamily<'Attention' | 'AttentionGradient'> = {
  Attention: (node, lowering) => {
    familyOf(placesOf(node), node.outputs[0]).Attention(node, lowering);
  },
  AttentionGradient: (node, lowering) => {
    familyOf(node.attributes.places, node.outputs[0]).AttentionGradient(node, lowering);
  },
};
