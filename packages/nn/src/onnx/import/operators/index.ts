import type { OperatorRules } from '../call.ts';
import { elementwiseRules } from './elementwise.ts';
import { imageRules } from './images.ts';
import { matrixRules } from './matrix.ts';
import { reductionRules } from './reduction.ts';
import { shapeRules } from './shape.ts';

/** The operators of ONNX that an imported model may have. Their gradients are those of the functions here. */
export const operatorRules: OperatorRules = {
  ...elementwiseRules,
  ...shapeRules,
  ...reductionRules,
  ...matrixRules,
  ...imageRules,
};
