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

/** Clients of one process share a probe: probes of thousands of clients would fill the accept queue of the store. */
export function lookAtStore(at: HandshakeTarget, mayDisagree: boolean): Promise<Look> {
  const client = at.keys?.client.publicKey.toString('hex');
  const what = JSON.stringify([at.host, at.port, client, mayDisagree]);
  const current = looks.get(what);
  if (current) return current;
  const look = async (): Promise<Look> => {
    try {
      const reachability = await probe(at);
      const disagreement =
        reachability.kind === 'accepted' && mayDisagree ? await findSecretDisagreement(at) : undefined;
      return { reachability, disagreement };
    } finally {
      looks.delete(what);
    }
  };
  const started = look();
  looks.set(what, started);
  return started;
}
