import { Buffer } from 'node:buffer';

import { describeNccl, loadNative } from '@ringrun/native';
import type { NcclDescription } from '@ringrun/native';

import { checkedRank, checkedSize, checkedTimeout } from '../native-group/arguments.ts';
import type { CpuGroupOptions } from '../cpu/create.ts';
import { connectRanks, cpuGroupOptions } from '../cpu/create.ts';
import { checkedSecurity } from '../cpu/security.ts';
import { InvalidArgumentError, RingrunError, defaultTimeoutMs, requireOptions } from '@ringrun/core';
import type { OptionNames, Store } from '@ringrun/core';
import { requireNccl } from './availability.ts';
import type { NcclRankInfo, OwnNcclRankInfo } from './rank-info.ts';
import { checkRankInfos, exchangeRankInfos } from './rank-info.ts';
import { chooseDevice } from './device.ts';
import { NcclGroup } from './nccl-group.ts';

/** Options of {@link createNcclGroup}. */
export interface NcclGroupOptions extends CpuGroupOptions {
  /** Index of this rank's GPU among the visible ones (torch: device_id). Default: LOCAL_RANK. */
  device?: number;
}

const optionNames: OptionNames<NcclGroupOptions> = { ...cpuGroupOptions, device: true };

/**
 * Forms a group of processes (backend `nccl`: one GPU for each rank). A collective: every rank calls it. It includes
 * the connections of a CPU group (see `NcclGroup`) and therefore its options.
 *
 * @throws RingrunError `ERR_NCCL_UNAVAILABLE`, on every rank, if a rank has no GPU, driver or NCCL, with the paths
 * tried.
 * @throws InvalidArgumentError, on every rank, if two ranks share a GPU.
 * @throws RingrunError `ERR_SECRET_MISMATCH` if a rank has another key.
 * @throws the errors of createCpuGroup.
 */
export async function createNcclGroup(options: NcclGroupOptions): Promise<NcclGroup> {
  requireOptions('createNcclGroup', options, optionNames);
  const size = checkedSize(options.size);
  const rank = checkedRank('rank', options.rank, size);
  const timeoutMs = checkedTimeout(options.timeoutMs ?? defaultTimeoutMs);
  const connectTimeoutMs = checkedTimeout(options.connectTimeoutMs ?? timeoutMs);
  const { key } = checkedSecurity(options);
  const { info, reason } = ownRankInfo({ rank, size }, options.device);
  const infos = await exchangeRankInfos(options.store, info, key, connectTimeoutMs).catch(
    async (error: unknown) => {
      if (error instanceof RingrunError && error.code === 'ERR_SECRET_MISMATCH') {
        await letOthersRead(options.store, size);
      }
      throw error;
    },
  );
  const refusal = reason ?? refusalOf(infos);
  if (refusal) {
    await letOthersRead(options.store, size);
    throw refusal;
  }
  const id = Buffer.from(infos[0].uniqueId, 'base64');
  const device = info.device.index;
  const gpuProblem = gpuProblemOf(infos, rank);
  return await connectRanks(options, async ({ native, calls, transport, ...ranks }) => {
    if (options.encrypt === true && transport !== 'shm') {
      throw new InvalidArgumentError(
        "encrypt: expected the backend 'gloo', or 'nccl' on a single host, got 'nccl' on several hosts: NCCL does not encrypt its connections. " +
          "Use backend 'gloo', or an encrypted network without the option.",
      );
    }
    await native.joinNccl(device, id, ranks.timeoutMs);
    return new NcclGroup(calls, { ...ranks, device, gpuProblem });
  });
}

function refusalOf(infos: readonly NcclRankInfo[]): Error | undefined {
  try {
    checkRankInfos(infos);
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

const readersTimeoutMs = 5000;

/**
 * Rank 0 may close the store after createNcclGroup throws, so all ranks must read each other's `NcclRankInfo` first.
 */
async function letOthersRead(store: Store, size: number): Promise<void> {
  if (size === 1) return;
  try {
    if ((await store.add('nccl/readers', 1)) === size) await store.set('nccl/read', '');
    await store.wait(['nccl/read'], { timeoutMs: readersTimeoutMs });
  } catch {
    // The caller throws the refusal, which matters more.
  }
}

/**
 * A rank without NCCL publishes its `NcclRankInfo` too, so that the others do not wait for it. `reason` is its own error, which is
 * more detailed than the errors of the other ranks.
 */
function ownRankInfo(
  own: Pick<NcclRankInfo, 'rank' | 'size'>,
  asked: number | undefined,
): { info: OwnNcclRankInfo; reason?: Error } {
  const ncclHostId = process.env['NCCL_HOSTID'] ?? '';
  try {
    return { info: { ...own, ...rankInfoWithNccl(own.rank, asked), ncclHostId } };
  } catch (error) {
    const reason = asError(error);
    const device = { index: 0, name: '', uuid: '' };
    const problem = reason.message;
    return {
      info: { ...own, problem, version: '', device, gpuProblem: problem, ncclHostId, uniqueId: '' },
      reason,
    };
  }
}

function rankInfoWithNccl(
  rank: number,
  asked: number | undefined,
): Omit<OwnNcclRankInfo, 'rank' | 'size' | 'ncclHostId'> {
  const { nccl, devices } = available();
  const { index, name, uuid } = devices[chooseDevice(devices.length, asked)];
  const uniqueId = rank === 0 ? Buffer.from(loadNative().ncclUniqueId()).toString('base64') : '';
  const device = { index, name, uuid };
  return { problem: '', version: nccl.version, device, gpuProblem: ownGpuProblem(index), uniqueId };
}

/** Opens the libraries that compute on a GPU, unless the CPU was asked for. */
function ownGpuProblem(device: number): string {
  if (process.env['RINGRUN_DEVICE'] === 'cpu') return '';
  try {
    const native = loadNative();
    new native.GpuDevice(device);
    // Only models with convolutions need cuDNN, but the model is not known yet.
    return native.describeGpu().cudnn.problem;
  } catch (error) {
    return asError(error).message;
  }
}

/** Why models do not compute on the GPUs by themselves: the problem of the first rank that has one. */
function gpuProblemOf(infos: readonly NcclRankInfo[], own: number): string | undefined {
  const found = infos.find(({ gpuProblem }) => gpuProblem !== '');
  if (found === undefined) return undefined;
  return found.rank === own ? found.gpuProblem : `on rank ${found.rank} (${found.host}), ${found.gpuProblem}`;
}

function available(): NcclDescription {
  const found = describeNccl();
  requireNccl(found);
  return found;
}
