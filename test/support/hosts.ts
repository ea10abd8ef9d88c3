import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command, CommandOptions } from './command.ts';
import { Namespace } from './namespace.ts';
import { start } from './start.ts';

/** Hosts that are joined by a switch and reach nothing else. Disposing ends what still runs on them, and removes them. */
export interface Network extends Disposable {
  readonly hosts: readonly Host[];
}

/** Of Ethernet. */
const bytesPerPacket = 1500;

/** What may leave at once after a pause: two of the largest segments that TCP hands down, 1 ms at 1 Gbit/s. */
const burstBytes = 128 * 1024;

let networks = 0;

export interface NetworkOptions {
  /** What each host can send, headers included; as much as the kernel can copy unless given. */
  bitsPerSecond?: number;
  /** Of the hosts, in their order; host0, host1, … unless given. */
  names?: readonly string[];
}

/**
 * Builds `count` hosts: host0 at 10.0.0.1, host1 at 10.0.0.2, …. Hosts and switch are namespaces of their own, so nothing of this machine's network is
 * touched.
 */
export function connectHosts(count: number, { bitsPerSecond, names }: NetworkOptions = {}): Network {
  networks += 1;
  const name = `ringrun-${process.pid}-${networks}`;
  const namespaces: Namespace[] = [];
  const add = (part: string) => {
    const namespace = new Namespace(`${name}-${part}`);
    namespaces.push(namespace);
    return namespace;
  };
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const remove = () => {
    for (const namespace of namespaces) namespace.remove();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const middle = new Switch(add('switch'));
    const hosts = Array.from({ length: count }, (_, place) => {
      const hostname = names?.[place] ?? `host${place}`;
      return new Host(add(`host${place}`), middle, {
        place,
        hostname,
        hostsFile: join(folder, String(place)),
      });
    });
    if (bitsPerSecond !== undefined) for (const host of hosts) host.limit(bitsPerSecond);
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
  plugIn(port: number, host: Namespace): void {
    this.#namespace.ip(
      `link add name port${port} mtu ${bytesPerPacket} type veth peer name eth0 mtu ${bytesPerPacket} netns ${host.name}`,
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
  readonly #hostsFile: string;
  readonly #unplug: () => void;

  constructor(
    namespace: Namespace,
    middle: Switch,
    { place, hostname, hostsFile }: { place: number; hostname: string; hostsFile: string },
  ) {
    this.name = hostname;
    this.address = `10.0.0.${place + 1}`;
    this.#namespace = namespace;
    this.#hostsFile = hostsFile;
    this.learnNames([]);
    this.#unplug = () => {
      middle.unplug(place);
    };
    middle.plugIn(place, namespace);
    namespace.ip('link set lo up', `address add ${this.address}/24 dev eth0`, 'link set eth0 up');
  }

  /** Every kernel has Reno. BBR, the default of some machines, leaves 6% of the link idle while it probes, whatever is sent. */
  limit(bitsPerSecond: number): void {
    this.#namespace.set('net/ipv4/tcp_congestion_control', 'reno');
    this.#namespace.tc(
      `qdisc add dev eth0 root tbf rate ${bitsPerSecond}bit burst ${burstBytes} latency 50ms`,
    );
  }

  /** From now on TCP segments come in only from or to this port, as behind a firewall that swallows the others. Rules of routing: not every kernel has filters. */
  admitOnlyPort(port: number): void {
    const incoming = 'iif eth0 ipproto tcp';
    this.#namespace.ip(
      'rule add pref 400 lookup local',
      'rule delete pref 0',
      `rule add pref 100 ${incoming} dport ${port} lookup local`,
      `rule add pref 200 ${incoming} sport ${port} lookup local`,
      `rule add pref 300 ${incoming} blackhole`,
    );
  }

  /** From now on programs on this host know the names of `others`, beside its own and `localhost`: until then nobody resolves them. */
  learnNames(others: readonly Host[]): void {
    const known = [this, ...others].map(({ address, name }) => `${address} ${name}\n`);
    // In its place: it is mounted.
    writeFileSync(this.#hostsFile, `127.0.0.1 localhost\n::1 localhost\n${known.join('')}`);
  }

  /** Starts `node` with these arguments on this host. */
  node(args: readonly string[], options?: CommandOptions): Command {
    return this.start(process.execPath, args, options);
  }

  /** Starts a program on this host. */
  start(program: string, args: readonly string[], options?: CommandOptions): Command {
    const place = { hostname: this.name, hosts: this.#hostsFile };
    return start(...this.#namespace.commandLine(place, program, args), options);
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
