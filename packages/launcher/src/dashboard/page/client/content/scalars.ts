import { formatScalar } from '../../../format.ts';
import type { Status } from '../../../status.ts';

/** The caption of a scalar's curve. */
export function scalarTexts({ name, value }: Status['scalars'][number]): { name: string; value: string } {
  return { name, value: formatScalar(value) };
}

/** The sentence below the curves; empty if all scalars are shown. */
export function scalarsNote({ scalars, hiddenScalars }: Status): string {
  return hiddenScalars === 0
    ? ''
    : `${hiddenScalars} more scalars are not shown: the page has room for ${scalars.length}. See metrics.`;
}

/** Whether there is anything to draw. */
export function hasCurves({ curve, scalars }: Status): boolean {
  return curve.length > 1 || scalars.length > 0;
}
