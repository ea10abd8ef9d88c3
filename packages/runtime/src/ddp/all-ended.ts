/**
 * Like `Promise.all`, but a rejection waits for the end of all promises: afterwards none of their operations accesses its
 * memory.
 */
export async function allEnded(promises: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  const ends = await Promise.allSettled(promises.filter((promise) => promise !== undefined));
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}
