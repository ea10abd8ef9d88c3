import { spawnSync } from 'node:child_process';
import { Namespace } from '../../support/namespace.ts';

/** Network of the pods; the bridge has the first address. */
export const subnet = '10.244.0';
export const gateway = `${subnet}.1`;
export const bridge = 'pods';

/** A pod's network namespace, connected to the bridge of this process' namespace. */
export interface PodNetwork {
  name: string;
  address: string;
  remove(): void;
}

/** Gives each pod a namespace and an address. */
export class Network {
  readonly #prefix: string;
  readonly #used = new Set<number>();
  /** An address is used again only after all others, because peers may remember it. */
  #last = 1;

  /** @param prefix Prefix of the namespaces' names. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  connect(): PodNetwork {
    const host = this.#nextFree();
    const address = `${subnet}.${host}`;
    const namespace = new Namespace(`${this.#prefix}-pod${host}`);
    const port = `pod${host}`;
    ip(`link add name ${port} type veth peer name eth0 netns ${namespace.name}`);
    ip(`link set ${port} master ${bridge} up`);
    namespace.ip(
      'link set lo up',
      `address add ${address}/24 dev eth0`,
      'link set eth0 up',
      `route add default via ${gateway}`,
    );
    const remove = (): void => {
      namespace.remove();
      this.#used.delete(host);
    };
    return { name: namespace.name, address, remove };
  }

  #nextFree(): number {
    for (let tries = 0; tries < 253; tries++) {
      this.#last = this.#last >= 254 ? 2 : this.#last + 1;
      if (this.#used.has(this.#last)) continue;
      this.#used.add(this.#last);
      return this.#last;
    }
    throw new Error(`network: all 253 addresses of ${subnet}.0/24 are in use`);
  }
}

/** Runs a command of `ip` in the namespace of this process. */
function ip(command: string): void {
  const { status, stderr } = spawnSync('ip', command.split(' '), { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${command}: ${stderr.trim()}`);
}
