import type { Command, CommandOptions } from './command.ts';
import { Namespace } from './namespace.ts';
import { start } from './start.ts';

/** What connects a host with the switch. */
export interface Link {
  /** Bytes of the largest IP packet; 1500 as in Ethernet unless given. */
  mtu?: number;
  /** What the host can send; as much as the kernel can copy unless given. */
  bitsPerSecond?: number;
}

/** Hosts that are joined by a switch and reach nothing else. Disposing ends what still runs on them, and removes them. */
export interface Network extends Disposable {
  readonly hosts: readonly Host[];
}

/** What may leave at once after a pause: two of the largest segments that TCP hands down, 1 ms at 1 Gbit/s. */
const burstBytes = 128 * 1024;

let networks = 0;

/**
 * Builds `count` hosts: host0 at 10.0.0.1, host1 at 10.0.0.2, …. Hosts and switch are namespaces of their own, so nothing of this machine's network is
 * touched.
 */
export function connectHosts(count: number, link: Link = {}): Network {
  networks += 1;
  const name = `ringrun-${process.pid}-${networks}`;
  const namespaces: Namespace[] = [];
  const add = (part: string) => {
    const namespace = new Namespace(`${name}-${part}`);
    namespaces.push(namespace);
    return namespace;
  };
  const remove = () => {
    for (const namespace of namespaces) namespace.remove();
  };
  try {
    const middle = new Switch(add('switch'));
    const hosts = Array.from(
      { length: count },
      (_, place) => new Host(add(`host${place}`), middle, place, link),
    );
    return { hosts, [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A bridge, to which each host is joined by a cable: a pair of veth interfaces. */
class Switch {
  readonly #namespace: Namespace;

  constructor(namespace: Namespace) {
    this.#namespace = namespace;
    namespace.ip('link add name bridge type bridge', 'link set bridge up');
  }

  /** Both ends of the cable are made where they belong. The end at the host is `eth0`. */
  plugIn(port: number, host: Namespace, mtu: number): void {
    this.#namespace.ip(
      `link add name port${port} mtu ${mtu} type veth peer name eth0 mtu ${mtu} netns ${host.name}`,
      `link set port${port} master bridge up`,
    );
  }

  unplug(port: number): void {
    this.#namespace.ip(`link set port${port} down`);
  }
}

/** Its processes have a network, an address and a host name of their own. */
export class Host {
  readonly name: string;
  readonly address: string;
  readonly #namespace: Namespace;
  readonly #unplug: () => void;

  constructor(namespace: Namespace, middle: Switch, place: number, { mtu = 1500, bitsPerSecond }: Link) {
    this.name = `host${place}`;
    this.address = `10.0.0.${place + 1}`;
    this.#namespace = namespace;
    this.#unplug = () => {
      middle.unplug(place);
    };
    middle.plugIn(place, namespace, mtu);
    namespace.ip('link set lo up', `address add ${this.address}/24 dev eth0`, 'link set eth0 up');
    namespace.set('net/ipv4/tcp_congestion_control', 'reno');
    if (bitsPerSecond !== undefined) {
      namespace.tc(`qdisc add dev eth0 root tbf rate ${bitsPerSecond}bit burst ${burstBytes} latency 50ms`);
    }
  }

  /** Starts `node` with these arguments on this host. */
  node(args: readonly string[], options?: CommandOptions): Command {
    return start(...this.#namespace.commandLine(this.name, process.execPath, args), options);
  }

  /** Ends all its processes with SIGKILL. The kernel stays, and tells others that connections have ended. */
  killProcesses(): void {
    this.#namespace.killProcesses();
  }

  /** From now on nothing comes through, and nobody is told. */
  cutLink(): void {
    this.#unplug();
  }
}
