/**
 * Whether to run all variants (`npm run test:full`, which sets RINGRUN_TESTS=full). `npm test` takes ten minutes on two
 * processors and skips some variants of tests that show one thing in several ways.
 */
export const isFull = process.env['RINGRUN_TESTS'] === 'full';

/** All variants of a test, or those that `npm test` runs. */
export function ways<Way>(few: readonly Way[], others: readonly Way[]): readonly Way[] {
  return isFull ? [...few, ...others] : few;
}
