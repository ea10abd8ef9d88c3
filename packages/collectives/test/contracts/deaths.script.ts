// A rank is killed while groups run every kind of operation.
import { formGroup } from '../fixtures/groups.ts';
import type { Failure, Rank } from '../fixtures/scenario.ts';
import { operationNames, operationOn } from './fixtures/operations.ts';

/**
 * Repeats every kind of operation, each in its own group, until it fails. `length`: elements for one rank. Reports each
 * group's error and its time.
 */
export async function everyOperationUntilFailure({
  rank,
  size,
  store,
  args,
  report,
}: Rank<{ length: number }>): Promise<void> {
  const underWay = [];
  for (const name of operationNames) {
    const group = await formGroup({ rank, size, store }, name);
    const operate = operationOn(group, name, args.length);
    await operate();
    underWay.push({ group, failed: untilFailure(operate) });
  }
  await report({ running: true });
  const errors = await Promise.all(underWay.map(({ failed }) => failed));
  const byName = errors.map(({ error, failedAt }, i) => {
    const { name, peer, operation, message } = error;
    return [operationNames[i], { name, peer, operation, message, failedAt }];
  });
  await report({ errors: Object.fromEntries(byName) as Record<string, object> });
  await Promise.all(underWay.map(({ group }) => group.destroy()));
}
everyOperationUntilFailure.formsGroupItself = true;

async function untilFailure(operate: () => Promise<unknown>): Promise<{ error: Failure; failedAt: number }> {
  for (;;) {
    try {
      await operate();
    } catch (error) {
      return { error: error as Failure, failedAt: Date.now() };
    }
  }
}
