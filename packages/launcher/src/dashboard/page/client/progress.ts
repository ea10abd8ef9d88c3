import type { Status } from '../../status.ts';
import { doneShare, epochText, stepOfEpochText } from './content/progress.ts';
import { byId } from './dom.ts';

export function showProgress(progress: Status['progress']): void {
  byId('progress').hidden = progress === undefined;
  if (progress === undefined) return;
  byId('epoch').textContent = epochText(progress);
  byId('step').textContent = stepOfEpochText(progress);
  byId('done').style.width = `${100 * doneShare(progress)}%`;
}
