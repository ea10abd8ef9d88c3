import type { Operation } from '../operation.ts';
import { activations } from './activations.ts';
import { layers } from './layers.ts';
import { losses } from './losses.ts';
import { matrices } from './matrices.ts';
import { pointwise } from './pointwise.ts';
import { reductions } from './reductions.ts';
import { shapes } from './shape.ts';

/** The operations of torch's op_db that ringrun has, by torch's names. */
export const operations: Readonly<Record<string, Operation>> = {
  ...pointwise,
  ...reductions,
  ...shapes,
  ...matrices,
  ...activations,
  ...layers,
  ...losses,
};
