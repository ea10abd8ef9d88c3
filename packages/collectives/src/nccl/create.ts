import { Buffer } from 'node:buffer';

import { describeNccl, loadNative } from '@ringrun/native';
import type { NcclDescription } from '@ringrun/native';

import { checkedRank, checkedSize, checkedTimeout } from '../gloo/arguments.ts';
import type { GlooGroupOptions } from '../gloo/create.ts';
import { connectRanks } from '../gloo/create.ts';
import { defaultTimeoutMs } from '../options.ts';
import { requireNccl, whyUnavailable } from './availability.ts';
import type { OwnCard } from './card.ts';
import { checkCards, exchangeCards } from './card.ts';
import { chooseDevice } from './device.ts';
import { NcclGroup } from './nccl-group.ts';

export interface NcclGroupOptions extends GlooGroupOptions {
  /** This rank's GPU among those that it sees (torch: device_id); unless given, by LOCAL_RANK. */
  device?: number;
}

/**
 * Forms a group of processes (backend `nccl`: one GPU for each rank). A collective: every rank calls it. The connections of a gloo group are part of it
 * (see `NcclGroup`), so its options are there too.
 *
 * @throws RingrunError `ERR_NCCL_UNAVAILABLE`, on every rank, when one has no GPU, no driver or no NCCL: with what was looked for, and where.
 * @throws InvalidArgumentError, on every rank, for two that share a GPU; and as createGlooGroup.
 * @throws errors of createGlooGroup for ranks that do not come or connect.
 */
export async function createNcclGroup(options: NcclGroupOptions): Promise<NcclGroup> {
  const size = checkedSize(options.size);
  const rank = checkedRank('rank', options.rank, size);
  const timeoutMs = checkedTimeout(options.timeoutMs ?? defaultTimeoutMs);
  const found = describeNccl();
  const own = ownCard(found, rank, options.device);
  const cards = await exchangeCards(options.store, own, size, timeoutMs);
  // This rank's own reason is the better one to read here.
  requireNccl(found);
  checkCards(cards);
  const id = Buffer.from(cards[0].uniqueId, 'base64');
  const device = own.device.index;
  return await connectRanks(options, async ({ native, calls, rank, size, timeoutMs }) => {
    await native.joinNccl(device, id, timeoutMs);
    return new NcclGroup(calls, { rank, size, timeoutMs, device });
  });
}

/** A rank that cannot takes part this far, so that the others need not wait for it. */
function ownCard(found: NcclDescription, rank: number, asked: number | undefined): OwnCard {
  const ncclHostId = process.env['NCCL_HOSTID'] ?? '';
  const problem = whyUnavailable(found);
  if (problem !== undefined) {
    const device = { index: 0, name: '', uuid: '' };
    return { rank, problem, version: '', device, ncclHostId, uniqueId: '' };
  }
  const { index, name, uuid } = found.devices[chooseDevice(found.devices.length, asked)];
  const uniqueId = rank === 0 ? Buffer.from(loadNative().ncclUniqueId()).toString('base64') : '';
  return {
    rank,
    problem: '',
    version: found.nccl.version,
    device: { index, name, uuid },
    ncclHostId,
    uniqueId,
  };
}
