import { addressRoutedTowards } from '@ringrun/collectives';
import type { Store } from '@ringrun/core';
import type { InitSettings } from './init-method.ts';

const masterKey = 'master';

/** An address reserved for documentation (RFC 5737), reached by the default route. No packet is sent. */
const anywhere = '192.0.2.1';
const thisHost = '127.0.0.1';

/**
 * The address of rank 0's host. A store in a file, or one that the program passed, does not have it, so rank 0
 * publishes the source address of its default route, or a loopback address if it has no route.
 *
 * @param store Used by this job alone.
 */
export async function agreeOnMaster(store: Store, settings: InitSettings): Promise<string> {
  if (settings.masterAddress !== undefined) return settings.masterAddress;
  if (settings.worldSize === 1) return thisHost;
  if (settings.rank > 0) return Buffer.from(await store.get(masterKey)).toString('utf8');
  const own = await addressRoutedTowards(anywhere).catch(() => thisHost);
  await store.set(masterKey, own);
  return own;
}
