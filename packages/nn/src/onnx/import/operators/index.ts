import type { OperatorVersions } from '../specification.ts';
import { activationOperators } from './activation.ts';
import { arithmeticOperators } from './arithmetic.ts';
import { comparisonOperators } from './comparison.ts';
import { controlOperators } from './control.ts';
import { convolutionOperators } from './convolution.ts';
import { imageOperators } from './images.ts';
import { indexingOperators } from './indexing.ts';
import { matrixOperators } from './matrix.ts';
import { normalizationOperators } from './normalization.ts';
import { orderingOperators } from './ordering.ts';
import { poolingOperators } from './pooling.ts';
import { reductionOperators } from './reduction.ts';
import { resizeOperators } from './resize.ts';
import { shapeOperators } from './shape.ts';

/** The operators of ONNX that an imported model may use. They are built from functions with gradients. */
export const operatorTable: Readonly<Record<string, OperatorVersions>> = {
  ...activationOperators,
  ...arithmeticOperators,
  ...comparisonOperators,
  ...controlOperators,
  ...convolutionOperators,
  ...imageOperators,
  ...indexingOperators,
  ...matrixOperators,
  ...normalizationOperators,
  ...orderingOperators,
  ...poolingOperators,
  ...reductionOperators,
  ...resizeOperators,
  ...shapeOperators,
};
