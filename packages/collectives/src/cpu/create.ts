import { hostname } from 'node:os';

import type { NativeEndpoint, NativeProcessGroup } from '@ringrun/native';
import { loadNative } from '@ringrun/native';

import { defaultTimeoutMs, printable, requireOptions } from '@ringrun/core';
import type { Links, OptionNames, ProcessGroup, RankIdentity, Store } from '@ringrun/core';
import { addressRoutedTowards } from './advertised-address.ts';
import { checkSameAlgorithm, requestedAlgorithm } from './algorithm.ts';
import { checkedRank, checkedSize, checkedTimeout } from '../native-group/arguments.ts';
import { exchangeRankInfos, rankInfoOf } from './rank-info.ts';
import { describeRank, isNativeFailure, translateFailure } from '../native-group/failure.ts';
import { GroupLinks } from '../links/group-links.ts';
import type { GroupHosts } from '../links/group-links.ts';
import { checkSameLinks, linksDigest, requestedLinks } from '../links/requested-links.ts';
import { CpuGroup } from './cpu-group.ts';
import { checkSameEncryption, checkedSecurity } from './security.ts';
import type { Security } from './security.ts';
import { hostIdentity } from './host-identity.ts';
import { NativeCalls } from '../native-group/native-calls.ts';
import { requestedTransport } from './requested-transport.ts';
import type { RequestedTransport } from './requested-transport.ts';
import { silentPeerTimeout } from './silent-peers.ts';
import type { Transport } from './transport.ts';
import { decideTransport } from './transport.ts';
import { waitReportsAfterMs } from './wait-reports.ts';

/** Options of {@link createCpuGroup}. */
export interface CpuGroupOptions {
  /**
   * Store through which the ranks find each other. Keys begin with `gloo/`: use one prefix per group. Unused if `size`
   * is 1.
   */
  store: Store;
  /** Rank of this process in the group, from 0 to `size` - 1. */
  rank: number;
  /** Number of processes in the group, at least 1. */
  size: number;
  /** Timeout for forming the group, and default timeout of its operations, in milliseconds. Default: 30 minutes. */
  timeoutMs?: number;
  /** Timeout for forming the group, if it differs from that of its operations. Default: `timeoutMs`. */
  connectTimeoutMs?: number;
  /** Forces a transport, as RINGRUN_TRANSPORT does. The same on every rank. */
  transport?: RequestedTransport;
  /** Name or address of rank 0's host: this rank advertises its own address on the route to it. Default: 127.0.0.1. */
  masterAddress?: string;
  /**
   * Two ranks have the same value if and only if they can share memory. Default: RINGRUN_HOST_ID, or a value derived
   * from the kernel and the network namespace.
   */
  hostId?: string;
  /**
   * Key of 32 bytes, the same on every rank. Ranks prove to each other that they have it; processes without it cannot
   * connect. Default: zeroes, with which any process that can read the store can connect.
   */
  key?: Uint8Array;
  /**
   * Encrypts connections between hosts (AES-256-GCM); shared memory and connections within a host are not encrypted.
   * Needs `key`. The same on every rank. Default: `false`.
   */
  encrypt?: boolean;
  /**
   * Milliseconds without any answer from the host of another rank (it vanished, or the link is cut) after which that
   * rank counts as dead, between 1 s and 1 day. Default: RINGRUN_SILENT_PEER_TIMEOUT_S, or 15 s.
   */
  silentPeerTimeoutMs?: number;
  /**
   * The links between the group's hosts: `measure` measures them when the ranks are connected, which takes about a second;
   * otherwise an object, or the path of a JSON file that contains it. Collectives then send data around slow links, and choose
   * algorithms by delay and bandwidth. Measured links may differ from run to run, and with them the order of additions:
   * only given links keep results bit-identical. The same on every rank. Default: none, every host is as near as any other.
   */
  links?: Links | string;
}

export const cpuGroupOptions: OptionNames<CpuGroupOptions> = {
  store: true,
  rank: true,
  size: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  transport: true,
  masterAddress: true,
  hostId: true,
  key: true,
  encrypt: true,
  silentPeerTimeoutMs: true,
  links: true,
};

/**
 * Forms a group of processes on CPUs (backend `gloo`): shared memory within a host, TCP between hosts. A collective:
 * every rank calls it.
 *
 * @throws InvalidArgumentError for invalid settings, or settings that conflict with those of other ranks.
 * @throws StoreTimeoutError naming the ranks that did not publish their address.
 * @throws RingrunError `ERR_SECRET_MISMATCH` if a rank has another key.
 * @throws CollectiveTimeoutError or PeerDiedError naming the ranks that did not connect.
 * @throws NativeUnavailableError if the addon is missing and cannot be built.
 */
export async function createCpuGroup(options: CpuGroupOptions): Promise<ProcessGroup> {
  requireOptions('createCpuGroup', options, cpuGroupOptions);
  return await connectRanks(options, ({ calls, ...settings }) =>
    Promise.resolve(new CpuGroup(calls, settings)),
  );
}

/** The connected ranks of a group. */
export interface ConnectedRanks {
  native: NativeProcessGroup;
  calls: NativeCalls;
  rank: number;
  size: number;
  /** Default timeout of operations, in milliseconds. */
  timeoutMs: number;
  /** Transport of host arrays. */
  transport: Transport;
  links: GroupLinks;
}

/** Connects the ranks and creates a group. Releases everything if either fails. Errors: see `createCpuGroup`. */
export async function connectRanks<Group>(
  options: CpuGroupOptions,
  makeGroup: (ranks: ConnectedRanks) => Promise<Group>,
): Promise<Group> {
  const size = checkedSize(options.size);
  const rank = checkedRank('rank', options.rank, size);
  const timeoutMs = checkedTimeout(options.timeoutMs ?? defaultTimeoutMs);
  const connectTimeoutMs = checkedTimeout(options.connectTimeoutMs ?? timeoutMs);
  const requested = requestedTransport(options.transport);
  const reportAfterMs = waitReportsAfterMs();
  const silentPeerTimeoutMs = silentPeerTimeout(options.silentPeerTimeoutMs);
  const binding = loadNative();
  const algorithm = requestedAlgorithm(binding.algorithmNames());
  const security = checkedSecurity(options);
  const given = options.links === undefined ? undefined : requestedLinks(options.links);

  const native = new binding.ProcessGroup(rank, size);
  const own: RankIdentity = { rank, host: hostname(), pid: process.pid };
  let met: Meeting = { ...alone, identities: [own], transport: requested ?? 'shm' };
  try {
    if (size > 1) {
      const links = linksDigest(given);
      met = await meet(native, options, connectTimeoutMs, { requested, algorithm, links, ...security });
    }
    await native.connect(met.endpoints, algorithm, connectTimeoutMs, reportAfterMs, silentPeerTimeoutMs);
    const calls = new NativeCalls(native, rank, met.identities);
    const links = new GroupLinks(groupHosts(met));
    if (size > 1) await links.begin(native, given, connectTimeoutMs);
    return await makeGroup({ native, calls, rank, size, timeoutMs, transport: met.transport, links });
  } catch (error) {
    await native.destroy(timeoutMs);
    throw isNativeFailure(error) ? translateFailure(error, own, met.identities) : error;
  }
}

/** The ranks' information about each other before they connect; lists are by rank. */
interface Meeting {
  identities: readonly RankIdentity[];
  endpoints: NativeEndpoint[];
  transport: Transport;
}

/** Maximum milliseconds to wait until the master's name resolves: it did a moment ago, when the store was reached. */
const resolvePatienceMs = 30_000;

/** The endpoint of a group of one, which no rank connects to. */
const alone = { endpoints: [{ host: 0, name: '', socketName: '', address: '', port: 0, token: '' }] };

/** Hosts in the order of their first ranks. */
function groupHosts({ identities, endpoints }: Meeting): GroupHosts {
  const numbers = [...new Set(endpoints.map(({ host }) => host))];
  const ofRank = endpoints.map(({ host }) => numbers.indexOf(host));
  return { names: numbers.map((_, host) => identities[ofRank.indexOf(host)].host), ofRank };
}

async function meet(
  native: NativeProcessGroup,
  { store, rank, size, masterAddress, hostId }: CpuGroupOptions,
  timeoutMs: number,
  { key, ...told }: { requested: RequestedTransport | null; algorithm: string; links: string } & Security,
): Promise<Meeting> {
  const address = await addressRoutedTowards(
    masterAddress ?? '127.0.0.1',
    Math.min(timeoutMs, resolvePatienceMs),
  );
  const own = { rank, size, ...told, address, hostId: hostId ?? (await hostIdentity()) };
  const listening = native.listen(address, key, told.encrypt);
  const infos = await exchangeRankInfos(store, rankInfoOf(own, listening), key, timeoutMs);
  checkSameAlgorithm(infos);
  checkSameEncryption(infos);
  checkSameLinks(infos);
  const { transport, hosts, note } = decideTransport(infos);
  if (note !== undefined && rank === 0) console.error(`ringrun: ${note}`);
  return {
    identities: infos.map((info) => ({ rank: info.rank, host: info.host, pid: info.pid })),
    endpoints: infos.map((info) => ({
      host: hosts[info.rank],
      name: describeRank(info),
      hostName: printable(info.host),
      socketName: info.socketName,
      address: info.address,
      port: info.port,
      relayPort: info.relayPort,
      token: info.token,
    })),
    transport,
  };
}
