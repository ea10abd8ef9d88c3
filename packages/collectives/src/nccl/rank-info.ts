import { Buffer } from 'node:buffer';
import { hostname } from 'node:os';

import { InvalidArgumentError, printable, RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { describeRank } from '../native-group/failure.ts';
import { isProof, notAuthenticated, notInThisGroup, withProof } from '../native-group/rank-info-proof.ts';

/** The information that a rank publishes about itself in the store before the communicator exists. */
export interface NcclRankInfo {
  rank: number;
  size: number;
  host: string;
  pid: number;
  /** Reason why this rank cannot use NCCL; empty if it can. */
  problem: string;
  /** `2.21.5` */
  version: string;
  device: { index: number; name: string; uuid: string };
  /** The reason why this process cannot compute on its GPU; empty if it can. */
  gpuProblem: string;
  /** NCCL_HOSTID of the rank; empty if unset. NCCL treats ranks with different values as ranks on different hosts. */
  ncclHostId: string;
  /** The ncclUniqueId of the communicator, in base64; only on rank 0. */
  uniqueId: string;
}

export type OwnNcclRankInfo = Omit<NcclRankInfo, 'host' | 'pid'>;

/**
 * Publishes this rank's `NcclRankInfo` and returns those of all ranks, by rank.
 *
 * @param key Key of the group, with which every rank authenticates its `NcclRankInfo`.
 * @throws StoreTimeoutError naming the ranks that did not publish theirs within `timeoutMs`.
 * @throws RingrunError `ERR_SECRET_MISMATCH` if a rank has another key, or an `NcclRankInfo` was changed.
 */
export async function exchangeRankInfos(
  store: Store,
  own: OwnNcclRankInfo,
  key: Uint8Array,
  timeoutMs: number,
): Promise<NcclRankInfo[]> {
  const info: NcclRankInfo = { ...own, host: hostname(), pid: process.pid };
  if (own.size === 1) return [info];
  await store.set(keyOf(own.rank), withProof('NcclRankInfo', info, key));
  const keys = Array.from({ length: own.size }, (_, rank) => keyOf(rank));
  await store.wait(keys, { timeoutMs }).catch((error: unknown) => {
    throw error instanceof StoreTimeoutError ? namingRanks(error, info, keys, timeoutMs) : error;
  });
  const values = await Promise.all(keys.map((key) => store.get(key, { timeoutMs })));
  return values.map((value, rank) => readRankInfo(value, rank, info, key));
}

function readRankInfo(value: Uint8Array, rank: number, own: NcclRankInfo, key: Uint8Array): NcclRankInfo {
  const { proof, ...info } = parseRankInfo(value);
  if (!isProof(proof, 'NcclRankInfo', info, key)) throw notAuthenticated(own, rank);
  const authentic = info as NcclRankInfo;
  if (authentic.rank !== rank || authentic.size !== own.size) throw notInThisGroup(authentic, rank, own);
  return authentic;
}

function parseRankInfo(value: Uint8Array): Partial<NcclRankInfo & { proof: string }> {
  try {
    return (JSON.parse(Buffer.from(value).toString()) ?? {}) as Partial<NcclRankInfo & { proof: string }>;
  } catch {
    return {};
  }
}

const keyOf = (rank: number): string => `nccl/rank-info/${rank}`;

function namingRanks(
  error: StoreTimeoutError,
  own: NcclRankInfo,
  keys: readonly string[],
  timeoutMs: number,
): StoreTimeoutError {
  const missing = keys.flatMap((key, rank) => (error.missingKeys.includes(key) ? [rank] : []));
  if (missing.length === 0) return error;
  return new StoreTimeoutError(
    error.missingKeys,
    `${describeRank(own)} waited ${timeoutMs} ms for rank ${missing.join(', ')} of ${keys.length} to join the nccl group: ` +
      'check the logs of the missing ranks and that all ranks use backend nccl, or raise timeoutMs',
  );
}

/**
 * Checks that the ranks can form a communicator. All ranks read the same `NcclRankInfo`s, so all of them throw the same error.
 *
 * @throws RingrunError `ERR_NCCL_UNAVAILABLE` for a rank without NCCL, `ERR_VERSION_MISMATCH` for two versions of it;
 * InvalidArgumentError for ranks that share a GPU.
 */
export function checkRankInfos(infos: readonly NcclRankInfo[]): void {
  const without = infos.find(({ problem }) => problem !== '');
  if (without) {
    throw new RingrunError('ERR_NCCL_UNAVAILABLE', `${describeRank(without)}: ${printable(without.problem)}`);
  }
  checkVersions(infos);
  checkGpusAreDifferent(infos);
}

/** NCCL's wire protocol follows its minor version. */
function checkVersions(infos: readonly NcclRankInfo[]): void {
  const [first] = infos;
  const other = infos.find(({ version }) => minorOf(version) !== minorOf(first.version));
  if (other === undefined) return;
  throw new RingrunError(
    'ERR_VERSION_MISMATCH',
    `${describeRank(first)} has NCCL ${printable(first.version)}, ${describeRank(other)} has ${printable(other.version)}: install the same version on every host, or set RINGRUN_NCCL_LIBRARY to its path`,
  );
}

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

/** NCCL itself reports this late, while it connects, and only on some ranks ("Duplicate GPU detected"). */
function checkGpusAreDifferent(infos: readonly NcclRankInfo[]): void {
  const users = new Map<string, NcclRankInfo[]>();
  for (const info of infos) {
    const key = `${info.device.uuid} ${info.ncclHostId}`;
    users.set(key, [...(users.get(key) ?? []), info]);
  }
  const shared = [...users.values()].find((ranks) => ranks.length > 1);
  if (shared !== undefined) throw sharedGpu(shared, infos);
}

function sharedGpu(ranks: readonly NcclRankInfo[], infos: readonly NcclRankInfo[]): InvalidArgumentError {
  const [{ host, device }] = ranks;
  const { name, uuid, index } = device;
  const ofHost = infos.filter((info) => info.host === host);
  const gpus = new Set(ofHost.map((info) => info.device.uuid)).size;
  return new InvalidArgumentError(
    `${joined(ranks.map((rank) => describeRank(rank)))} would share GPU ${index} (${printable(name)}, ${printable(uuid)}), but NCCL needs one GPU for each rank; ` +
      `MIG instances of one GPU count as one. The ${ofHost.length} ranks of host ${printable(host)} use ${gpus} GPU${gpus === 1 ? '' : 's'}: ` +
      `start ${gpus} with --nproc-per-node ${gpus} or auto, give the pod more with nvidia.com/gpu, ` +
      'or assign other GPUs with CUDA_VISIBLE_DEVICES or LOCAL_RANK. Ranks of the backend gloo may share a GPU',
  );
}

function joined(parts: readonly string[]): string {
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
