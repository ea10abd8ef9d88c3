/**
 * How much of the suites to run: `short`, as a part of `npm test`, or `full`, every combination and length (`npm run test:conformance`, which
 * sets RINGRUN_CONFORMANCE).
 */
export function requestedExtent(env: NodeJS.ProcessEnv = process.env): 'short' | 'full' {
  const given = env['RINGRUN_CONFORMANCE'] ?? 'short';
  if (given === 'short' || given === 'full') return given;
  throw new Error(`RINGRUN_CONFORMANCE is '${given}', expected short or full`);
}
