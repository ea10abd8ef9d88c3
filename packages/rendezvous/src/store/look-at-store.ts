import { findSecretDisagreement } from './handshake.ts';
import type { HandshakeTarget, SecretDisagreement } from './handshake.ts';
import { probe } from './reachability.ts';
import type { Reachability } from './reachability.ts';

/** Result of probing the port of a store that does not answer. */
export interface Look {
  reachability: Reachability;
  disagreement: SecretDisagreement | undefined;
}

/** Probes in progress, by their target. */
const looks = new Map<string, Promise<Look>>();

/**
 * Clients of one process share a probe: probes of thousands of clients would fill the accept queue of the store.
 *
 * @param current The address of the host to which the client connects.
 */
export function lookAtStore(at: HandshakeTarget, current: string, mayDisagree: boolean): Promise<Look> {
  const client = at.keys?.client.publicKey.toString('hex');
  const what = JSON.stringify([at.host, at.port, current, client, mayDisagree]);
  const started = looks.get(what);
  if (started) return started;
  const look = async (): Promise<Look> => {
    try {
      const reachability = await probe(at);
      const isOpen = reachability.kind === 'accepted' && reachability.accepting.includes(current);
      const disagreement =
        isOpen && mayDisagree
          ? await findSecretDisagreement({ host: current, port: at.port, keys: at.keys })
          : undefined;
      return { reachability, disagreement };
    } finally {
      looks.delete(what);
    }
  };
  const looking = look();
  looks.set(what, looking);
  return looking;
}
