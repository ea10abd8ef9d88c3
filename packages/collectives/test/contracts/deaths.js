// A rank is killed while groups are in the midst of every kind of operation.
import { formGroup } from '../fixtures/groups.js';
import { operationNames, operationOn } from './operations.js';

/** A group for each kind of operation, which is in it again and again, until it fails. args: length. Reports each group's error and when it came. */
export async function everyOperationUntilFailure({ rank, size, store, args, report }) {
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
  await report({ errors: Object.fromEntries(byName) });
  await Promise.all(underWay.map(({ group }) => group.destroy()));
}
everyOperationUntilFailure.formsGroupItself = true;

async function untilFailure(operate) {
  for (;;) {
    try {
      await operate();
    } catch (error) {
      return { error, failedAt: Date.now() };
    }
  }
}
