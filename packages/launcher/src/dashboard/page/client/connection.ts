import type { Status } from '../../status.ts';
import { signedOut, unreachable } from './content/job-state.ts';
import type { JobState } from './content/job-state.ts';

const everyMs = 1000;
const timeoutMs = 10_000;

/** Reads the status a second after the last answer, as long as the page is open. */
export async function followStatus(
  onStatus: (status: Status) => void,
  onProblem: (problem: JobState) => void,
): Promise<never> {
  let answeredAt = performance.now();
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, everyMs));
    try {
      const answer = await fetch('status.json', { signal: AbortSignal.timeout(timeoutMs) });
      if (answer.ok) {
        onStatus((await answer.json()) as Status);
        answeredAt = performance.now();
      } else if (answer.status === 401) onProblem(signedOut);
    } catch {
      onProblem(unreachable((performance.now() - answeredAt) / 1000));
    }
  }
}
