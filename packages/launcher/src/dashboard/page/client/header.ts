import type { Status } from '../../status.ts';
import { heading, jobLine, title } from './content/headline.ts';
import { stateOf } from './content/job-state.ts';
import type { JobState } from './content/job-state.ts';
import { byId } from './dom.ts';

export function showHeader(status: Status): void {
  byId('title').textContent = heading(status);
  byId('job').textContent = jobLine(status);
  document.title = title(status);
  showState(stateOf(status));
}

export function showState({ text, kind }: JobState): void {
  byId('state').textContent = text;
  byId('state').className = kind;
}
