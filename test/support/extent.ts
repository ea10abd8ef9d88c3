/**
 * Whether everything is asked for (`npm run test:full`, which sets RINGRUN_TESTS=full). `npm test` has ten minutes on two processors: there, of tests that show one thing in several ways,
 * some are left out.
 */
export const isFull = process.env['RINGRUN_TESTS'] === 'full';

/** All ways of a test, or those that `npm test` has time for. */
export function ways<Way>(few: readonly Way[], others: readonly Way[]): readonly Way[] {
  return isFull ? [...few, ...others] : few;
}
