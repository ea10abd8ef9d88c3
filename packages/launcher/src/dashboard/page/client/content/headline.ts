import { formatSize } from '../../../format.ts';
import type { Status } from '../../../status.ts';
import { dash, isKnown, lossText } from './text.ts';

export function jobLine(status: Status): string {
  return `job ${status.runId === '' ? dash : status.runId}, ${formatSize(status)}`;
}

/** Title of the browser's tab. */
export function title({ runId, loss }: Status): string {
  return `ringrun ${runId}${isKnown(loss) ? `: loss ${lossText(loss)}` : ''}`;
}
