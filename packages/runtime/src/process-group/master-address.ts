import { addressRoutedTowards } from '@ringrun/collectives';
import type { Store } from '@ringrun/collectives';
import type { InitSettings } from './init-method.ts';

const masterKey = 'master';

/** Of a network for documentation (RFC 5737): nobody has it, so the way there is the default route. Nothing is sent. */
const anywhere = '192.0.2.1';
const thisHost = '127.0.0.1';

/**
 * Where the other ranks find rank 0's host. A store in a file, or one that the program has brought along, has no address that would tell, so rank 0 says it:
 * its own, from which it goes out of its host, or a loopback one where no way leads out.
 *
 * @param store A part that this job has for itself.
 */
export async function agreeOnMaster(store: Store, settings: InitSettings): Promise<string> {
  if (settings.masterAddress !== undefined) return settings.masterAddress;
  if (settings.worldSize === 1) return thisHost;
  if (settings.rank > 0) return Buffer.from(await store.get(masterKey)).toString('utf8');
  const own = await addressRoutedTowards(anywhere).catch(() => thisHost);
  await store.set(masterKey, own);
  return own;
}
