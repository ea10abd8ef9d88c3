import { formatSize } from '../../../format.ts';
import type { Status } from '../../../status.ts';
import { dash, isKnown, lossText } from './text.ts';

export function jobLine(status: Status): string {
  return `job ${status.runId === '' ? dash : status.runId}, ${formatSize(status)}`;
}

/** The heading of the page: the name of the job. */
export function heading({ name }: Status): string {
  return name ?? 'ringrun';
}

/** Title of the browser's tab. */
export function title({ name, runId, loss }: Status): string {
  return `${name ?? `ringrun ${runId}`}${isKnown(loss) ? `: loss ${lossText(loss)}` : ''}`;
}
