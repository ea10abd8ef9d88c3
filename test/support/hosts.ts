import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command, CommandOptions } from './command.ts';
import { LinkEmulator } from './links/emulator.ts';
import type { LinkOptions } from './links/emulator.ts';
import { Namespace } from './namespace.ts';
import { start } from './start.ts';

/** Hosts without other connections. Disposing kills their processes and removes them. */
export interface Network extends Disposable {
  readonly hosts: readonly Host[];
}

/** Hosts whose links have a delay, a rate and a queue, which can be changed while packets are under way. */
export interface ShapedNetwork extends Network {
  readonly links: LinkEmulator;
}

/** Of Ethernet. */
const bytesPerPacket = 1500;

/** Burst after a pause: two maximum TCP segments, 1 ms at 1 Gbit/s. */
const burstBytes = 128 * 1024;

let networks = 0;

export interface NetworkOptions {
  /** Bandwidth of each host, headers included. Default: unlimited. */
  bitsPerSecond?: number;
  /** Names of the hosts, in order. Default: host0, host1, …. */
  names?: readonly string[];
}

export interface ShapedOptions {
  /** The hosts are connected by an emulator of these links instead of a switch. */
  links: Readonly<LinkOptions>;
  names?: readonly string[];
  /** Of TCP, such as `bbr`. Default: cubic, Linux's default; reno if namespaces may not use cubic. */
  congestionControl?: string;
}

/**
 * Builds `count` hosts: host0 at 10.0.0.1, host1 at 10.0.0.2, …. Every host, and the switch, is a namespace, so nothing
 * of this machine's network is touched. With `links`, an emulator forwards the packets (links/emulator.cc).
 */
export function connectHosts(count: number, options: ShapedOptions): ShapedNetwork;
export function connectHosts(count: number, options?: NetworkOptions): Network;
export function connectHosts(
  count: number,
  { names, ...options }: NetworkOptions & Partial<ShapedOptions> = {},
): Network & { links?: LinkEmulator } {
  networks += 1;
  const name = `ringrun-${process.pid}-${networks}`;
  const namespaces: Namespace[] = [];
  const add = (part: string) => {
    const namespace = new Namespace(`${name}-${part}`);
    namespaces.push(namespace);
    return namespace;
  };
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  let links: LinkEmulator | undefined;
  const remove = () => {
    links?.close();
    for (const namespace of namespaces) namespace.remove();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const spaces = Array.from({ length: count }, (_, place) => add(`host${place}`));
    if (options.links) links = new LinkEmulator(spaces, { folder, links: options.links });
    const middle = links ?? new Switch(add('switch'));
    const hosts = spaces.map((space, place) => {
      const hostname = names?.[place] ?? `host${place}`;
      return new Host(space, middle, { place, hostname, hostsFile: join(folder, String(place)) });
    });
    for (const host of hosts) {
      if (options.bitsPerSecond !== undefined) host.limit(options.bitsPerSecond);
      if (links) host.useCongestionControl(options.congestionControl ?? defaultCongestionControl());
    }
    return { hosts, ...(links && { links }), [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function defaultCongestionControl(): string {
  const allowed = readFileSync('/proc/sys/net/ipv4/tcp_allowed_congestion_control', 'utf8');
  return allowed.split(/\s+/).includes('cubic') ? 'cubic' : 'reno';
}

/** What the hosts are connected to: their `eth0` ends there. */
interface Middle {
  /** Creates `eth0` in the namespace of the host at this place, unless it is there already. */
  plugIn?(place: number, host: Namespace): void;
  /** Drops all packets of a host, or no longer. */
  setCut(place: number, isCut: boolean): void;
}

/** A bridge with a pair of veth interfaces as the cable to each host. */
class Switch implements Middle {
  readonly #namespace: Namespace;

  constructor(namespace: Namespace) {
    this.#namespace = namespace;
    namespace.ip('link add name bridge type bridge', 'link set bridge up');
  }

  /** Creates both ends of the cable in their namespaces. The end at the host is `eth0`. */
  plugIn(port: number, host: Namespace): void {
    this.#namespace.ip(
      `link add name port${port} mtu ${bytesPerPacket} type veth peer name eth0 mtu ${bytesPerPacket} netns ${host.name}`,
      `link set port${port} master bridge up`,
    );
  }

  setCut(port: number, isCut: boolean): void {
    this.#namespace.ip(`link set port${port} ${isCut ? 'down' : 'up'}`);
  }
}

/** A host whose processes have their own network, address and host name. */
export class Host {
  readonly name: string;
  readonly address: string;
  readonly #namespace: Namespace;
  readonly #hostsFile: string;
  readonly #setCut: (isCut: boolean) => void;

  constructor(
    namespace: Namespace,
    middle: Middle,
    { place, hostname, hostsFile }: { place: number; hostname: string; hostsFile: string },
  ) {
    this.name = hostname;
    this.address = `10.0.0.${place + 1}`;
    this.#namespace = namespace;
    this.#hostsFile = hostsFile;
    this.learnNames([]);
    this.#setCut = (isCut) => {
      middle.setCut(place, isCut);
    };
    middle.plugIn?.(place, namespace);
    namespace.ip('link set lo up', `address add ${this.address}/24 dev eth0`, 'link set eth0 up');
  }

  /**
   * Selects Reno, which every kernel has. BBR, the default of some machines, leaves 6% of the link idle while it
   * probes.
   */
  limit(bitsPerSecond: number): void {
    this.useCongestionControl('reno');
    this.#namespace.tc(
      `qdisc add dev eth0 root tbf rate ${bitsPerSecond}bit burst ${burstBytes} latency 50ms`,
    );
  }

  /** Of connections that are opened later, by the kernel's name. */
  useCongestionControl(name: string): void {
    this.#namespace.set('net/ipv4/tcp_congestion_control', name);
  }

  /**
   * Drops incoming TCP segments except from or to this port, like a firewall. Uses routing rules, because some kernels
   * lack filters.
   */
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

  /**
   * Drops all incoming packets silently, while its own packets arrive at other hosts. Address resolution still works, as
   * with a firewall.
   */
  loseIncoming(): void {
    // Otherwise the kernel finds the socket of a connection before it looks up a route.
    this.#namespace.set('net/ipv4/tcp_early_demux', '0');
    this.#namespace.ip(
      'rule add pref 400 lookup local',
      'rule delete pref 0',
      'rule add pref 100 iif eth0 blackhole',
    );
  }

  /** Drops all outgoing packets on this host, like a firewall of it. Packets of other hosts arrive. */
  loseOutgoing(): void {
    this.#namespace.exec('iptables', '-A', 'OUTPUT', '-o', 'eth0', '-j', 'DROP');
  }

  /**
   * Sends no packets to another host any more, as without a route to it: silently, or reporting it to the sender. Both hosts
   * must call it.
   */
  loseRouteTo(other: Pick<Host, 'address'>, how: 'blackhole' | 'unreachable' = 'blackhole'): void {
    this.#namespace.ip(`route add ${how} ${other.address}/32`);
  }

  /** Ends `loseRouteTo`. */
  findRouteTo(other: Pick<Host, 'address'>): void {
    this.#namespace.ip(`route del ${other.address}/32`);
  }

  /** Makes the names of `others` resolvable on this host. Before, only its own name and `localhost` resolve. */
  learnNames(others: readonly Pick<Host, 'address' | 'name'>[]): void {
    const known = [this, ...others].map(({ address, name }) => `${address} ${name}\n`);
    // Written in place, because the file is mounted.
    writeFileSync(this.#hostsFile, `127.0.0.1 localhost\n::1 localhost\n${known.join('')}`);
  }

  /** Makes an address drop all packets silently, like the address of a deleted pod. */
  silence(address: string): void {
    this.#namespace.ip(`neighbour add ${address} lladdr 02:00:00:00:00:01 dev eth0 nud permanent`);
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

  /** Kills all its processes with SIGKILL. The kernel stays and closes their connections. */
  killProcesses(): void {
    this.#namespace.killProcesses();
  }

  /** Drops all packets silently. */
  cutLink(): void {
    this.#setCut(true);
  }

  /** Ends `cutLink`. */
  restoreLink(): void {
    this.#setCut(false);
  }
}
