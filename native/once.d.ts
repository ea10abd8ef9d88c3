/** Types of once.js, for tests. */
export function once(options: {
  lock: string;
  work: () => Promise<void>;
  isDone: () => boolean;
  onWait: (holder: string) => void;
  staleAfterMs?: number;
}): Promise<void>;
