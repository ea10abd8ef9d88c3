import { tell } from './activity.ts';

/**
 * Runs a function under a name that a trace shows (torch.profiler.record_function); one that gives a promise lasts until that settles.
 *
 * @returns what the function returns
 */
export function recordFunction<Result>(name: string, run: () => Result): Result {
  const startedAt = performance.now();
  const end = () => {
    tell('function', name, startedAt, performance.now());
  };
  let result: Result | undefined;
  try {
    result = run();
    return result;
  } finally {
    if (result instanceof Promise) result.then(end, end);
    else end();
  }
}
